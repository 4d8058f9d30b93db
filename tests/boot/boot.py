#!/usr/bin/python3
"""Boots the system's unit under systemd in a container: README.md.

usage: boot.py BUILD
"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S = 300
USERS = "root:x:0:0::/root:/bin/sh\nmember:x:2001:2001::/tmp:/bin/sh\noutsider:x:2002:2002::/tmp:/bin/sh\n" \
    "nobody:x:65534:65534::/:/bin/false\n"
GROUPS = "root:x:0:\nmember:x:2001:\noutsider:x:2002:\nnogroup:x:65534:\n"
SERVICE = """[Unit]
Description=Checks of tridentd
After=sockets.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/usr/bin/python3 /check/checks.py
StandardOutput=journal+console
StandardError=journal+console
"""


def reason_to_skip():
    if os.geteuid() != 0:
        return "it takes root to boot a container"
    if shutil.which("systemd-nspawn") is None:
        return "there is no systemd-nspawn: install systemd-container"
    if not os.path.exists("/usr/lib/systemd/systemd"):
        return "there is no systemd to boot"
    probe = subprocess.run(["unshare", "--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "none", "/mnt"],
                           capture_output=True, text=True, check=False)
    return f"no container can be made here: {probe.stderr.strip()}" if probe.returncode != 0 else None


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(text)


def make_root(root):
    """A system that shares /usr with this one, and has nothing enabled but the checks."""
    for name in ("usr", "var", "run", "tmp", "proc", "sys", "dev", "root", "check"):
        os.mkdir(os.path.join(root, name))
    for name in ("bin", "sbin", "lib", "lib64"):
        if os.path.exists("/usr/" + name):
            os.symlink("usr/" + name, os.path.join(root, name))
    write(root + "/etc/passwd", USERS)
    write(root + "/etc/group", GROUPS)
    write(root + "/etc/nsswitch.conf", "passwd: files systemd\ngroup: files systemd\n")
    write(root + "/etc/hostname", "checks\n")
    write(root + "/etc/machine-id", "")
    shutil.copy("/etc/ld.so.cache", root + "/etc/ld.so.cache")
    shutil.copy("/usr/lib/os-release", root + "/etc/os-release")
    write(root + "/etc/systemd/system/checks.service", SERVICE)
    os.symlink("/usr/lib/systemd/system/multi-user.target", root + "/etc/systemd/system/default.target")
    wants = root + "/etc/systemd/system/multi-user.target.wants"
    os.mkdir(wants)
    os.symlink("../checks.service", wants + "/checks.service")
    for noise in ("getty.target", "console-getty.service", "systemd-logind.service", "systemd-resolved.service",
                  "systemd-networkd.service", "dbus.service", "dbus.socket"):
        os.symlink("/dev/null", root + "/etc/systemd/system/" + noise)
    shutil.copy(os.path.join(HERE, "checks.py"), root + "/check/checks.py")


def boot(root, installed):
    """Returns what the console said."""
    command = ["systemd-nspawn", "--quiet", "--directory", root, "--register=no", "--keep-unit", "--private-network",
               # The container's own filter knows no Landlock, which a machine's systemd leaves to the unit.
               "--system-call-filter=landlock_create_ruleset landlock_add_rule landlock_restrict_self",
               "--bind-ro=/usr", f"--bind-ro={installed}:/usr/local", "--console=pipe", "--boot"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=PATIENCE_S, check=False)
        return done.stdout + done.stderr
    except subprocess.TimeoutExpired as expired:
        return f"it did not end in {PATIENCE_S} s\n" + (expired.stdout or b"").decode(errors="replace")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    why = reason_to_skip()
    if why is not None:
        print("skipped:", why)
        return 0
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="trident-boot-") as folder:
        root, stage = os.path.join(folder, "root"), os.path.join(folder, "stage")
        os.mkdir(root)
        os.chmod(folder, 0o755)
        make_root(root)
        subprocess.run(["cmake", "--install", sys.argv[1], "--prefix", "/usr/local", "--strip"], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "DESTDIR": stage})
        said = boot(root, stage + "/usr/local")
        results = os.path.join(root, "check/results")
        lines = open(results, encoding="utf-8").read() if os.path.exists(results) else ""  # noqa: SIM115
    print(lines, end="")
    if "FAIL" in lines or "ok   all parts ran" not in lines:
        print(said)
        print("FAILED")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
