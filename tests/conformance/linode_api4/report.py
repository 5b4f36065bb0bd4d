"""One JSON line per check, for the reader that counts them."""

import json
import os
import sys


def say(check, ok, found="", **more):
    print(json.dumps({"check": check, "ok": ok, "found": str(found)[:500], **more}), flush=True)


def check(name, ask, wrong=lambda answer: None):
    """Asks once; `wrong` says what is wrong with an answer that arrived. Gives the answer if nothing is."""
    try:
        answer = ask()
        reason = wrong(answer)
    except Exception as error:  # whatever a client throws is a failed check
        say(name, False, f"{type(error).__name__}: {error}")
        return None
    say(name, reason is None, reason or "")
    return answer if reason is None else None


def unless(holds, found):
    return None if holds else f"not so: {found}"


def refused(name, ask, status):
    """The API answers with this status, and the client says so in its own error."""
    from linode_api4 import ApiError

    try:
        ask()
    except ApiError as error:
        return say(name, error.status == status, f"{error.status}: {error}")
    say(name, False, "accepted")


def breaks(operation, ask):
    """What this version breaks by its own code must go on to be broken, or the table is wrong."""
    try:
        ask()
    except Exception as error:
        return say(f"{operation} breaks as is known", True, error, breaks=operation)
    say(f"{operation} is known to break", False, "it works")


def given(name):
    return os.environ[name]


def number(name):
    return int(os.environ[name])


def failed(what):
    say(what, False)
    sys.exit(1)
