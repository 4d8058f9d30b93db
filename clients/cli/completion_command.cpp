// Shell completion, generated from the application's own verbs and options, so that it cannot go stale.
#include <algorithm>
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/manual.h"
#include "clients/cli/verb/verb.h"

namespace trident::cli {
namespace {

struct Flag {
  std::string name, description;  ///< "--type"
  bool takes_value = false;
};
struct VerbWords {
  std::string name, description;
  std::vector<Flag> flags;
  std::string parts;  ///< verbs of its own, with blanks between them
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

void add_flags(const Verb& verb, std::vector<Flag>& flags) {
  for (const Option& option : verb.options())
    for (const std::string& name : option.dashed_names()) {
      const auto same = [&](const Flag& f) { return f.name == name; };
      if (std::none_of(flags.begin(), flags.end(), same))
        flags.push_back({name, first_line(option.description()), option.takes_value()});
    }
}

std::vector<VerbWords> verbs_of(const Verb& app) {
  std::vector<VerbWords> verbs;
  for (const Verb& verb : app.subcommands()) {
    VerbWords v{verb.name(), first_line(verb.description()), {}, ""};
    add_flags(verb, v.flags);
    for (const Verb& part : verb.subcommands()) {
      v.parts += (v.parts.empty() ? "" : " ") + part.name();
      add_flags(part, v.flags);
    }
    if (v.name == "manual") v.parts = manual_pages(app);
    verbs.push_back(std::move(v));
  }
  return verbs;
}

/// `text` inside single quotes of a shell.
std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string bash_script(const std::vector<VerbWords>& verbs) {
  std::string names, cases, parts;
  for (const VerbWords& v : verbs) {
    names += (names.empty() ? "" : " ") + v.name;
    std::string flags;
    for (const Flag& f : v.flags) flags += (flags.empty() ? "" : " ") + f.name;
    cases += "    " + v.name + ") words=" + shell_quoted(flags) + " ;;\n";
    if (!v.parts.empty()) parts += "    " + v.name + ":2) parts=" + shell_quoted(v.parts) + " ;;\n";
  }
  return "# bash completion for trident\n_trident() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words= parts=\n"
         "  case $previous in\n    -t|--type) COMPREPLY=($(compgen -W 'f32 f64' -- \"$word\")); return ;;\n"
         "    -p|--policy) COMPREPLY=($(compgen -W 'exact bounded fast' -- \"$word\")); return ;;\n"
         "    --strategy) COMPREPLY=($(compgen -W 'saturate pulse best_first random hostile' -- \"$word\")); return "
         ";;\n"
         "    --cost) COMPREPLY=($(compgen -W 'default host reference' -- \"$word\")); return ;;\n"
         "    --objective) COMPREPLY=($(compgen -W 'dag tree' -- \"$word\")); return ;;\n"
         "    --isa) COMPREPLY=($(compgen -W 'auto avx2 avx512 neon' -- \"$word\")); return ;;\n"
         "    --syntax) COMPREPLY=($(compgen -W 'auto infix sexpr fpcore' -- \"$word\")); return ;;\n  esac\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W " +
         shell_quoted(names + " --help --version") + " -- \"$word\"))\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n" +
         cases + "  esac\n  case ${COMP_WORDS[1]}:$COMP_CWORD in\n" + parts +
         "  esac\n  if [[ -n $parts && $word != -* ]]; then\n    COMPREPLY=($(compgen -W \"$parts\" -- \"$word\"))\n"
         "  elif [[ $word == -* ]]; then\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n  else\n"
         "    COMPREPLY=($(compgen -f -- \"$word\"))\n  fi\n}\ncomplete -o filenames -F _trident trident\n";
}

std::string zsh_script(const std::vector<VerbWords>& verbs) {
  // A colon would end a word of _describe, a bracket the description of _arguments.
  const auto plain = [](std::string s) {
    for (char& c : s)
      if (c == ':' || c == '[' || c == ']') c = ' ';
    return s;
  };
  std::string names, cases;
  for (const VerbWords& v : verbs) {
    names += "    " + shell_quoted(v.name + ":" + plain(v.description)) + "\n";
    cases += "    " + v.name + ") _arguments";
    if (!v.parts.empty()) cases += " " + shell_quoted("1: :(" + v.parts + ")");
    for (const Flag& f : v.flags)
      cases += " " + shell_quoted(f.name + "[" + plain(f.description) + "]" + (f.takes_value ? ":value: " : ""));
    cases += " '*:file:_files' ;;\n";
  }
  return "#compdef trident\n_trident() {\n  local -a verbs=(\n" + names +
         "  )\n  if (( CURRENT == 2 )); then\n    _describe verb verbs\n    return\n  fi\n  local verb=${words[2]}\n"
         "  shift words\n  (( CURRENT-- ))\n  case $verb in\n" +
         cases + "  esac\n}\n_trident \"$@\"\n";
}

std::string fish_script(const std::vector<VerbWords>& verbs) {
  std::string out = "# fish completion for trident\n";
  for (const VerbWords& v : verbs) {
    out += "complete -c trident -n __fish_use_subcommand -f -a " + v.name + " -d " + shell_quoted(v.description) + "\n";
    if (!v.parts.empty())
      out +=
          "complete -c trident -n '__fish_seen_subcommand_from " + v.name + "' -f -a " + shell_quoted(v.parts) + "\n";
    for (const Flag& f : v.flags) {
      const bool is_long = f.name.starts_with("--");
      out += "complete -c trident -n '__fish_seen_subcommand_from " + v.name + "' " + (is_long ? "-l " : "-s ") +
             f.name.substr(is_long ? 2 : 1) + (f.takes_value ? " -r" : "") + " -d " + shell_quoted(f.description) +
             "\n";
    }
  }
  return out;
}

}  // namespace

void add_completion_command(Verb app, int& status) {
  const Verb verb = app.add_subcommand("completion", "Print a completion script for bash, zsh or fish");
  auto shell = std::make_shared<std::string>();
  verb.add_option("SHELL", *shell, "bash, zsh or fish").required().check(one_of({"bash", "zsh", "fish"}));
  verb.callback([app, &status, shell] {
    const std::vector<VerbWords> verbs = verbs_of(app);
    const std::string text = *shell == "bash"  ? bash_script(verbs)
                             : *shell == "zsh" ? zsh_script(verbs)
                                               : fish_script(verbs);
    std::fputs(text.c_str(), stdout);
    status = 0;
  });
}

}  // namespace trident::cli
