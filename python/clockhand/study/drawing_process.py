"""The process that draws: it calls vl-convert as it is asked to on its standard input.

It is run as a script and imports nothing of ours. Each request and each answer is a pickle; both
ends are ours.
"""

import os
import pickle
import sys


def serve() -> None:
    """Answer requests, a function's name and its arguments each, until the input ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What a library prints must not get among the answers.
    os.dup2(2, 1)
    import vl_convert

    while True:
        try:
            name, positional, named = pickle.load(requests)
        except EOFError:
            return
        try:
            answer = True, getattr(vl_convert, name)(*positional, **named)
        except Exception as error:
            answer = False, f"{type(error).__name__}: {error}"
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    serve()
