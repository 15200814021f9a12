"""Completion of words for a shell that is named on the command line."""

from typing import Any

from clockhand.completion import VARIABLE
from clockhand.study.errors import UsageError

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
INSTALLING = ("--install-completion", "--show-completion")


def install_for_named_shell(words: list[str]) -> bool:
    """Install or show completion for a shell that the command names; false if it names none.

    Typer's own option looks which shell it runs in and ignores a name after it.

    Raises:
        UsageError: there is no such shell.
    """
    if len(words) < 2 or words[0] not in INSTALLING:
        return False
    option, shell = words[0], words[1]
    if shell not in SHELLS or len(words) > 2:
        raise UsageError(
            f"{option} {' '.join(words[1:])!r} is not a shell",
            f"give one of {', '.join(SHELLS)}, or nothing for the one that you are in",
        )
    from typer import completion as typer_completion

    completion: Any = typer_completion
    if option == "--install-completion":
        _, path = completion.install(shell=shell, prog_name="clockhand")
        print(f"{shell} completion installed in {path}; open a new shell to have it")
    else:
        print(
            completion.get_completion_script(
                prog_name="clockhand", complete_var=VARIABLE, shell=shell
            )
        )
    return True
