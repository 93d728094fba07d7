"""The supervisor with small children in the place of web, worker, beat and simulator: `python -m ... NAME=KIND ...`.

`steady` notes its start and its stop signal; `stubborn` ignores signals and has a child of its own; `parent` has one
and ignores nothing; `fragile` falls over at its first start; `broken` at each.
SERVICES=1 in the environment runs the real embedded services, too.
"""

import os
import sys
import textwrap
from pathlib import Path

from portal.services.children import ChildSpec
from portal.services.errors import CannotStart
from portal.services.home import Home, allot_home
from portal.services.parts import SERVICES, STOP_ORDER, say
from portal.services.supervisor import Run, Supervisor

KINDS = {
    "steady": """
        import os, signal, sys, time
        def note(word):
            with open(sys.argv[2], "a") as file:
                file.write(f"{word} {sys.argv[1]}\\n")
        signal.signal(signal.SIGTERM, lambda *_: (note("end"), sys.exit(0)))
        note("start")
        while True:
            time.sleep(60)
        """,
    "stubborn": """
        import os, signal, time
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        os.fork()
        while True:
            time.sleep(60)
        """,
    "fragile": """
        import pathlib, sys, time
        marker = pathlib.Path(sys.argv[2] + ".fell")
        if not marker.exists():
            marker.touch()
            sys.exit("CRITICAL: fell over")
        while True:
            time.sleep(60)
        """,
    "broken": """raise RuntimeError("no such thing as a web server")""",
    "parent": """
        import os, time
        os.fork()
        while True:
            time.sleep(60)
        """,
}


def part(home: Home, name: str, kind: str) -> ChildSpec:
    code = textwrap.dedent(KINDS[kind])
    started = home.root / f"{name}.started"
    code = f"import pathlib; pathlib.Path({str(started)!r}).touch()\n{code}" if kind != "broken" else code
    command = (os.path.realpath(sys.executable), "-I", "-S", "-c", code, name, str(home.root / "notes"))
    return ChildSpec(name, command, cwd=Path("/"), ready=started.exists)


def main() -> None:
    home = Home(allot_home())
    run = Run(
        services=SERVICES if os.environ.get("SERVICES") else (),
        steps=[],
        parts=[part(home, *argument.split("=")) for argument in sys.argv[1:]],
        stop_order=STOP_ORDER,
        require=lambda: None,
        env={"STAND_IN": "1"},
        welcome=lambda: "ready",
    )
    try:
        Supervisor(home, say).run(run)
    except CannotStart as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
