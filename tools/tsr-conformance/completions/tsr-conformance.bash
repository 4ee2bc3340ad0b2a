# bash completion for tsr-conformance(1).
_tsr_conformance() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  case $previous in
  --plugin | --expect | --image | --metadata | --json)
    mapfile -t COMPREPLY < <(compgen -f -- "$current") && compopt -o filenames
    return
    ;;
  --only)
    mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" --list 2>/dev/null | cut -d' ' -f1)" -- "$current")
    return
    ;;
  --ranks | --launcher | --patience) return ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "--plugin --expect --only --image --metadata --ranks --launcher --patience
    --json --report --verbose --list --help --version" -- "$current")
} 2>/dev/null
complete -F _tsr_conformance tsr-conformance
