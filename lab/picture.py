"""Draws what a terminal showed as an SVG, for the README.

    pip install rich==14.2.0
    siglum --color always demo 2>&1 | python3 lab/picture.py 'siglum demo' > docs/demo.svg
"""

import re
import sys

from rich.console import Console
from rich.text import Text

WIDTH = 100

console = Console(record=True, width=WIDTH, file=open("/dev/null", "w", encoding="utf-8"))
console.print(Text.from_ansi(sys.stdin.read()), soft_wrap=False)
drawn = console.export_svg(title=sys.argv[1], unique_id="demo")
# Whoever looks at it fetches nothing from elsewhere.
drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)
sys.stdout.write(drawn.replace("Fira Code", "ui-monospace, SFMono-Regular, Menlo, Consolas"))
