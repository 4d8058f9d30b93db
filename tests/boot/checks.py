#!/usr/bin/python3
"""Checks of the system's unit, run by boot.py in its container as root. A line for each check in /check/results."""
import grp
import os
import socket
import subprocess
import time

SETTINGS = "/etc/tridentd/tridentd.toml"
MEMBER, OUTSIDER = 2001, 2002
RESULTS = open("/check/results", "w", encoding="utf-8")  # noqa: SIM115


def check(name, holds, detail=""):
    RESULTS.write(f"{'ok  ' if holds else 'FAIL'} {name}{'' if holds else ': ' + str(detail)}\n")
    RESULTS.flush()


def run(*command, **kwargs):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **kwargs)


def unit(name):
    return run("systemctl", "show", "tridentd.service", "--property", name, "--value").stdout.strip()


def asks_for_a_kernel(uid, groups, mode="daemon"):
    """A client of this user: what it prints."""
    group = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    return run("setpriv", "--reuid", str(uid), "--regid", str(uid), *group, "/usr/local/bin/trident", "run", "x*x", "-i", "x=1,2,3",
               "--mode", mode, *(["--tier", "baseline"] if mode == "daemon" else []), "--csv", "-",
               env={"PATH": os.environ["PATH"], "HOME": "/tmp"}, cwd="/tmp")


def is_served():
    member = asks_for_a_kernel(MEMBER, [grp.getgrnam("trident").gr_gid])
    return member.returncode == 0 and member.stdout.split()[1:] == ["1", "4", "9"], member


def status(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
        return dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)


def filters(pid):
    return int(status(pid)["Seccomp_filters"])


def log_lines(word):
    lines = run("journalctl", "--unit", "tridentd.service", "--output", "cat").stdout.splitlines()
    return [line for line in lines if word in line]


def eventually(holds, seconds=20):
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)
    return holds()


def settle(seconds=2):
    time.sleep(seconds)


def install():
    """As systemd/README.md says."""
    for command in (["systemd-sysusers"], ["systemd-tmpfiles", "--create"], ["systemctl", "daemon-reload"],
                    ["systemctl", "enable", "--now", "tridentd.socket"]):
        done = run(*command)
        if command[0] != "systemd-tmpfiles":  # other programs' rules may fail in a container
            check(" ".join(command), done.returncode == 0, done.stderr)


def clients():
    check("nothing runs before a client comes", unit("ActiveState") == "inactive", unit("ActiveState"))
    served, member = is_served()
    check("a member of the group gets a kernel", served, member.stdout + member.stderr)
    check("the service is active, which it has said itself", eventually(lambda: unit("ActiveState") == "active") and
          unit("Type") == "notify", unit("ActiveState"))
    outsider = asks_for_a_kernel(OUTSIDER, [])
    check("who is no member is refused", outsider.returncode != 0 and "ermission" in outsider.stderr, outsider)
    check("who is no member is answered without the daemon", asks_for_a_kernel(OUTSIDER, [], "auto").returncode == 0)


def confinement():
    front = unit("MainPID")
    with open(f"/proc/{front}/task/{front}/children", encoding="utf-8") as children:
        workers = children.read().split()
    check("there are workers", len(workers) >= 3, workers)
    for pid in [front, *workers]:
        own = status(pid)
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as handle:
            name = " ".join(handle.read().split("\0")[1:]).strip() or "front"
        check(f"{name}: no new privileges, a filter of system calls, no capabilities, a user of its own",
              own["NoNewPrivs"] == "1" and own["Seccomp"] == "2" and int(own["CapEff"], 16) == 0 == int(own["CapPrm"], 16) and
              own["Uid"].split()[0] not in ("0", str(MEMBER)), own)
        if pid != front:  # one that has just begun confines itself before its first request
            check(f"{name}: a filter more than the front", eventually(lambda pid=pid: filters(pid) > filters(front)), own)
    check("Landlock too", not log_lines("not fully confined"), log_lines("confined"))


def reloads():
    front = unit("MainPID")
    with open(SETTINGS, "w", encoding="utf-8") as handle:
        handle.write("baseline_queue_per_user = 77\n")
    done = run("systemctl", "reload", "tridentd.service")
    check("a reload succeeds", done.returncode == 0 and unit("MainPID") == front, done.stderr)
    check("the log tells of the reload", eventually(lambda: log_lines("reload")), log_lines(""))
    with open(SETTINGS, "w", encoding="utf-8") as handle:
        handle.write("baseline_queue_per_user = 'many'\n")
    done = run("systemctl", "reload", "tridentd.service")
    check("a reload with a mistake fails", done.returncode != 0, done)
    check("and changes nothing", unit("MainPID") == front and unit("ActiveState") == "active" and is_served()[0])


def reads_the_end():
    """Connects to the daemon's socket and says nothing: whether the other side ends it."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect("/run/trident/tridentd.sock")
        try:
            while client.recv(4096):
                pass
        except ConnectionResetError:
            pass
        except TimeoutError:
            return False
    return True


def mistake():
    """The settings have a mistake from here on."""
    done = run("systemctl", "restart", "tridentd.service")
    settle()
    check("a start with a mistake fails", done.returncode != 0 and unit("ActiveState") == "failed", unit("ActiveState"))
    check("with status 2", unit("ExecMainStatus") == "2", unit("ExecMainStatus"))
    check("and is not tried again", unit("NRestarts") == "0", unit("NRestarts"))
    starts = len(log_lines("baseline_queue_per_user"))
    check("the socket stays", run("systemctl", "is-active", "tridentd.socket").stdout.strip() == "active")
    client = asks_for_a_kernel(MEMBER, [grp.getgrnam("trident").gr_gid], "auto")
    check("a client is answered all the same", client.returncode == 0 and client.stdout.split()[1:] == ["1", "4", "9"], client)
    check("a connection is ended", reads_the_end())
    settle(3)
    more = len(log_lines("baseline_queue_per_user")) - starts
    check("connections start the service, but not without end", 1 <= more <= 10, (starts, more, log_lines("")))
    os.remove(SETTINGS)
    served, member = is_served()
    check("a client is served once the mistake is mended", served, member)


def killed():
    front = unit("MainPID")
    check("a daemon is running", front != "0", run("systemctl", "status", "tridentd.service", "tridentd.socket").stdout)
    run("systemctl", "kill", "--signal", "KILL", "--kill-whom", "main", "tridentd.service")
    # Where the kernel has cgroups of version 1, systemd hears late that the workers have ended.
    again = eventually(lambda: unit("ActiveState") == "active" and unit("MainPID") not in ("0", front))
    check("a killed daemon is started again", again, run("systemctl", "status", "tridentd.service").stdout)
    check("by systemd, once", unit("NRestarts") == "1", unit("NRestarts"))
    served, member = is_served()
    check("and serves", served, member)
    check("it stops", run("systemctl", "stop", "tridentd.service", "tridentd.socket").returncode == 0 and
          unit("Result") == "success", unit("Result"))


if __name__ == "__main__":
    try:
        for part in (install, clients, confinement, reloads, mistake, killed):
            part()
        check("all parts ran", True)
    except Exception as error:  # noqa: BLE001
        check("all parts ran", False, repr(error))
        raise
