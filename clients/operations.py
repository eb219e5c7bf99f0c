"""Writes the methods of both clients from the document of the API, and what they call the codes of problems.

    python3 operations.py python DIRECTORY
    python3 operations.py typescript DIRECTORY

Types come from generators that others maintain. A method for each operation does not read well from any of them, so it is
written here: named after its operation, with its parameters and the comment of the document.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"

# Their bodies have formats of others, and senders of their own: OTLP exporters, and `siglum sync`.
FOREIGN = {"exportTraces", "exportLogs", "exportMetrics", "pushReplicas"}
# What a second request would do again, or be refused for: it is not repeated when the answer to the first was lost.
ONCE = {
    "abortTurn",
    "answerInteraction",
    "cancelRun",
    "decideTurn",
    "deleteHeartbeat",
    "recordPipelineEvents",
    "rotateSessionToken",
    "runHeartbeat",
}
# Their answer comes when an agent has done its work, however long that is.
SLOW = {"sendMessages", "sendSessionMessages"}

MARK = "Written by clients/operations.py from docs/openapi.json. Changes are lost."


@dataclass
class Parameter:
    name: str
    required: bool
    schema: dict[str, Any]
    description: str


@dataclass
class Operation:
    id: str
    method: str
    path: str
    summary: str
    description: str
    places: list[Parameter]
    query: list[Parameter]
    headers: set[str]
    # The name of a schema, `object`, or nothing.
    body: str | None
    # The same, or `text`.
    answer: str | None
    # What a list has items of: the name of a schema, or `object`; nothing where the answer is no page of a list.
    item: str | None

    @property
    def stem(self) -> str:
        """`sessions` of `listSessions`, for the method that goes through all pages."""
        return self.id[4].lower() + self.id[5:] if self.id.startswith("list") else self.id

    @property
    def flags(self) -> list[str]:
        return [flag for flag, ids in (("once", ONCE), ("slow", SLOW)) if self.id in ids]


def named(schema: dict[str, Any]) -> str:
    return schema["$ref"].rsplit("/", 1)[-1] if "$ref" in schema else "object"


def operations(document: dict[str, Any]) -> list[Operation]:
    found = [
        operation(document, method, path, source)
        for path, methods in document["paths"].items()
        for method, source in methods.items()
    ]
    return sorted((one for one in found if one is not None), key=lambda one: one.id)


def operation(document: dict[str, Any], method: str, path: str, source: dict[str, Any]) -> Operation | None:
    answers = [answer for status, answer in source["responses"].items() if status.startswith("2")]
    kinds: dict[str, Any] = {}
    for answer in answers:
        kinds = {**answer.get("content", {}), **kinds}
    streams = "text/event-stream" in kinds
    if source["operationId"] in FOREIGN or (streams and len(kinds) == 1):
        return None
    parameters: dict[str, list[Parameter]] = {"path": [], "query": [], "header": []}
    for one in source.get("parameters", []):
        parameter = Parameter(one["name"], one.get("required", False), one["schema"], one.get("description", ""))
        # Streams have methods of their own, by hand.
        if not (streams and parameter.name == "format"):
            parameters[one["in"]].append(parameter)
    answer = "text" if "text/plain" in kinds else None
    item = None
    if "application/json" in kinds:
        answer = named(kinds["application/json"]["schema"])
        fields = document["components"]["schemas"].get(answer, {}).get("properties", {})
        if {"items", "next"} <= fields.keys():
            item = named(fields["items"]["items"])
    body = source.get("requestBody", {}).get("content", {}).get("application/json")
    return Operation(
        id=source["operationId"],
        method=method.upper(),
        path=path,
        summary=source["summary"],
        description=source.get("description", ""),
        places=parameters["path"],
        query=parameters["query"],
        headers={parameter.name for parameter in parameters["header"]},
        body=named(body["schema"]) if body else None,
        answer=answer,
        item=item,
    )


def codes(page: str) -> list[tuple[str, int, str]]:
    """Each code of a problem with a status of it and its meaning, as docs/gateway.md lists them."""
    section = page.split("\n### Codes\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d+) \| (.+?) \|$", section, re.MULTILINE)
    found: dict[str, tuple[str, int, str]] = {}
    for code, status, meaning in rows:
        # A run ends with those of the status 200; no request is refused with them.
        if int(status) >= 400:
            found.setdefault(code, (code, int(status), re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", meaning)))
    return list(found.values())


def snake(name: str) -> str:
    return re.sub(r"[-.]", "_", re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name)).lower()


def camel(name: str) -> str:
    head, *rest = re.split(r"[-_]", name)
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", ":", "!", "?")) else f"{text}."


# Python


def python_name(name: str) -> str:
    name = snake(name)
    return f"{name}_" if keyword.iskeyword(name) else name


def python_type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return f"models.{named(schema)}"
    kinds = schema.get("type", "string")
    kind = next(k for k in kinds if k != "null") if isinstance(kinds, list) else kinds
    if kind == "array":
        return f"Sequence[{python_type(schema['items'])}]"
    return {"string": "str", "integer": "int", "boolean": "bool", "number": "float"}[kind]


def python_answer(name: str | None) -> str:
    plain = {None: "None", "text": "str", "object": "dict[str, Any]"}
    return plain[name] if name in plain else f"models.{name}"


def python_doc(lines: list[str]) -> str:
    text = "\n\n".join(line for line in lines if line)
    wrapped = "\n\n".join(textwrap.fill(part, 108) for part in text.split("\n\n"))
    return textwrap.indent(f'"""{wrapped}"""' if "\n" not in wrapped else f'"""{wrapped}\n"""', " " * 8)


def python_parameters(one: Operation, pages: bool) -> list[Parameter]:
    query = [p for p in one.query if not (pages and p.name == "cursor")]
    return sorted(query, key=lambda p: not p.required)


def python_signature(one: Operation, name: str, answer: str, pages: bool) -> str:
    parts = ["self"] + [f"{python_name(p.name)}: str" for p in one.places]
    if one.body:
        parts.append(f"body: {python_answer(one.body)}")
    more = []
    for p in python_parameters(one, pages):
        kind = python_type(p.schema)
        more.append(f"{python_name(p.name)}: {kind}" + ("" if p.required else " | None = None"))
    more += [f"{snake(h)}: str | None = None" for h in sorted(one.headers & {"idempotency-key", "traceparent"})]
    if more:
        parts += ["*", *more]
    line = f"    def {name}({', '.join(parts)}) -> {answer}:"
    if len(line) <= 118:
        return line
    return f"    def {name}(\n" + "".join(f"        {part},\n" for part in parts) + f"    ) -> {answer}:"


def python_method(one: Operation) -> str:
    described = [f"`{p.name}`: {sentence(p.description)}" for p in one.query if p.description]
    path = re.sub(r"{(\w+)}", lambda match: f"{{quoted({python_name(match[1])})}}", one.path)
    given = [f'"{one.method}"', f'f"{path}"' if one.places else f'"{path}"']
    if one.query:
        given.append("query={" + ", ".join(f'"{p.name}": {python_name(p.name)}' for p in one.query) + "}")
    if one.body:
        given.append("body=body")
    sent = [f'"{h}": {snake(h)}' for h in sorted(one.headers & {"traceparent"})]
    if sent:
        given.append("headers={" + ", ".join(sent) + "}")
    if "idempotency-key" in one.headers:
        given.append("key=idempotency_key or fresh_key()")
    given += [f"{flag}=True" for flag in one.flags]
    call = f"self._call({', '.join(given)})"
    if len(call) > 90:
        call = "self._call(\n" + "".join(f"            {part},\n" for part in given) + "        )"
    answer = python_answer(one.answer)
    head = python_signature(one, python_name(one.id), answer, pages=False)
    doc = python_doc([sentence(one.summary), one.description, *described])
    if one.answer is None:
        return f"{head}\n{doc}\n        {call}\n"
    if one.answer == "text":
        call = call.replace("self._call(", "self._text(", 1)
    return f"{head}\n{doc}\n        answer: {answer} = {call}\n        return answer\n"


def python_pages(one: Operation) -> str:
    item = python_answer(one.item)
    name = f"iter_{snake(one.stem)}"
    head = python_signature(one, name, f"Iterator[{item}]", pages=True)
    doc = python_doc([f"Go through the items of `{snake(one.id)}`, page after page."])
    given = [python_name(p.name) for p in one.places]
    given += [f"{python_name(p.name)}={python_name(p.name)}" for p in python_parameters(one, pages=True)]
    call = f"self.{snake(one.id)}({', '.join([*given, 'cursor=cursor'])})"
    return (
        f"{head}\n{doc}\n        cursor: str | None = None\n        while True:\n            page = {call}\n"
        '            yield from page["items"]\n            cursor = page.get("next")\n'
        "            if not cursor:\n                return\n"
    )


def python(document: dict[str, Any], page: str, directory: Path) -> None:
    text = f'"""A method for each operation of the gateway.\n\n{MARK}\n"""\n\n'
    text += "from __future__ import annotations\n\nfrom collections.abc import Iterator, Sequence\nfrom typing import Any\n\n"
    text += "from siglum_client import models\nfrom siglum_client._transport import Transport, fresh_key, quoted\n\n\n"
    text += 'class Operations(Transport):\n    """What a gateway does. Each method sends one request, and repeats it where that is safe."""\n'
    for one in operations(document):
        text += f"\n{python_method(one)}"
        if one.item:
            text += f"\n{python_pages(one)}"
    (directory / "_operations.py").write_text(text)
    text = f'"""A class for each code of a problem: `except problems.Fenced`.\n\n{MARK}\n"""\n\n'
    text += "from __future__ import annotations\n\nfrom siglum_client._problem import ProblemError\n\n"
    rows = codes(page)
    for code, status, meaning in rows:
        text += f'\nclass {camel("-" + code)}(ProblemError):\n    """{status}: {sentence(meaning)}"""\n\n'
    text += "\nBY_CODE: dict[str, type[ProblemError]] = {\n"
    text += "".join(f'    "{code}": {camel("-" + code)},\n' for code, _, _ in rows) + "}\n"
    (directory / "problems.py").write_text(text)


# TypeScript


def typescript_type(name: str | None) -> str:
    plain = {None: "void", "text": "string", "object": "JsonObject"}
    return plain[name] if name in plain else f"schema.{name}"


def typescript_doc(lines: list[str]) -> str:
    text = "\n\n".join(line for line in lines if line)
    parts = "\n\n".join(textwrap.fill(part, 110) for part in text.split("\n\n")).replace("*/", "*\\/").splitlines()
    if len(parts) == 1:
        return f"  /** {parts[0]} */"
    return "\n".join(["  /**", *(f"   * {part}".rstrip() for part in parts), "   */"])


def typescript_signature(one: Operation, pages: bool) -> list[str]:
    parts = [f"{camel(p.name)}: string" for p in one.places]
    if one.body:
        parts.append(f"body: {typescript_type(one.body)}")
    if one.query:
        kind = f'Query<"{one.id}">'
        kind = f'Omit<{kind}, "cursor">' if pages else kind
        required = any(p.required for p in one.query)
        parts.append(f"query: {kind}" + ("" if required else " = {}"))
    return [*parts, "options: CallOptions = {}"]


def typescript_method(one: Operation) -> str:
    path = re.sub(r"{(\w+)}", lambda match: f"${{encodeURIComponent({camel(match[1])})}}", one.path)
    given = [f'method: "{one.method}"', f"path: `{path}`" if one.places else f'path: "{path}"']
    given += (["query"] if one.query else []) + (["body"] if one.body else [])
    if "idempotency-key" in one.headers:
        given.append("keyed: true")
    given += [f"{flag}: true" for flag in one.flags]
    if one.answer == "text":
        given.append("text: true")
    answer = typescript_type(one.answer)
    doc = typescript_doc([sentence(one.summary), one.description])
    head = f"  {one.id}({', '.join(typescript_signature(one, pages=False))}): Promise<{answer}> {{"
    return f"{doc}\n{head}\n    return this.call<{answer}>({{ {', '.join(given)} }}, options);\n  }}\n"


def typescript_pages(one: Operation) -> str:
    item = typescript_type(one.item)
    name = f"iter{one.stem[0].upper()}{one.stem[1:]}"
    doc = typescript_doc([f"Go through the items of `{one.id}`, page after page."])
    head = f"  iter{name[4:]}({', '.join(typescript_signature(one, pages=True))}): AsyncGenerator<{item}, void, undefined> {{"
    given = [camel(p.name) for p in one.places] + ["{ ...query, cursor }", "options"]
    call = f"this.{one.id}({', '.join(given)})"
    return f"{doc}\n{head}\n    return pages<{item}>((cursor) => {call});\n  }}\n"


def typescript(document: dict[str, Any], page: str, directory: Path) -> None:
    text = f"// A method for each operation of the gateway. {MARK}\n\n"
    text += 'import type * as schema from "./schema.js";\nimport { type CallOptions, type JsonObject, pages, Transport } from "./transport.js";\n\n'
    text += "/** The parameters of an operation. */\nexport type Query<Id extends keyof schema.operations> = NonNullable<schema.operations[Id][\"parameters\"][\"query\"]>;\n\n"
    text += "/** What a gateway does. Each method sends one request, and repeats it where that is safe. */\nexport class Operations extends Transport {\n"
    methods = []
    for one in operations(document):
        methods.append(typescript_method(one))
        if one.item:
            methods.append(typescript_pages(one))
    (directory / "operations.ts").write_text(text + "\n".join(methods) + "}\n")
    text = f"// The codes of problems. {MARK}\n\n/** Why a request was refused. */\nexport type ProblemCode =\n"
    for code, status, meaning in codes(page):
        text += f"  /** {status}: {sentence(meaning)} */\n  | \"{code}\"\n"
    (directory / "codes.ts").write_text(text.rstrip() + ";\n")


def main() -> None:
    language, directory = sys.argv[1], Path(sys.argv[2])
    document = json.loads((DOCS / "openapi.json").read_text())
    page = (DOCS / "gateway.md").read_text()
    {"python": python, "typescript": typescript}[language](document, page, directory)


if __name__ == "__main__":
    main()
