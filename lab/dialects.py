"""The four model protocols: what a request says, and how an answer is written.

Each dialect turns a request into events, (role, text) with role "result" for tool results, and the
declared tools {name: schema}; and it writes an answer {"text", "calls"} the way its agents read it.
A call is (tool, input); the input of a freeform tool is a string. Tokens have one form everywhere
({input, output, cache_read, cache_write}) and each dialect counts them in its own words.
"""
import json
import re
import time
import uuid


def new_id(prefix):
    return prefix + uuid.uuid4().hex[:24]


def text_of(content):
    """Text of a string, a part, or a list of parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, dict):
        return content.get("text") or text_of(content.get("content"))
    return "\n".join(filter(None, map(text_of, content)))


def pieces(text):
    return [text[at:at + 24] for at in range(0, len(text), 24)]


class Anthropic:
    """POST /v1/messages: Claude Code."""
    path = re.compile(r"/v1/messages$")
    models = {"has_more": False, "data": [{"id": "fake-model", "type": "model", "display_name": "fake-model",
                                           "created_at": "2025-01-01T00:00:00Z"}]}

    @staticmethod
    def read(body):
        events = []
        for message in body.get("messages", []):
            parts = message.get("content")
            if isinstance(parts, str):
                events.append((message["role"], parts))
                continue
            for part in parts or []:
                if part.get("type") == "tool_result":
                    events.append(("result", text_of(part.get("content"))))
                elif part.get("type") == "text":
                    events.append((message["role"], part.get("text", "")))
        form = body.get("output_format") or (body.get("output_config") or {}).get("format") or {}
        tools = {t["name"]: t.get("input_schema") or {} for t in body.get("tools") or [] if "name" in t}
        return events, tools, form.get("schema")

    @staticmethod
    def write(turn, model, tokens):
        content = [{"type": "text", "text": turn["text"]}] if turn["text"] else []
        content += [{"type": "tool_use", "id": new_id("toolu_"), "name": name, "input": given}
                    for name, given in turn["calls"]]
        return {"id": new_id("msg_"), "type": "message", "role": "assistant", "model": model,
                "content": content, "stop_reason": "tool_use" if turn["calls"] else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": tokens["input"], "output_tokens": tokens["output"],
                          "cache_creation_input_tokens": tokens["cache_write"],
                          "cache_read_input_tokens": tokens["cache_read"]}}

    @staticmethod
    def stream(message):
        yield {"type": "message_start", "message": dict(message, content=[], stop_reason=None)}
        for i, block in enumerate(message["content"]):
            is_text = block["type"] == "text"
            empty = dict(block, text="") if is_text else dict(block, input={})
            yield {"type": "content_block_start", "index": i, "content_block": empty}
            for part in pieces(block["text"] if is_text else json.dumps(block["input"])):
                delta = {"type": "text_delta", "text": part} if is_text else \
                    {"type": "input_json_delta", "partial_json": part}
                yield {"type": "content_block_delta", "index": i, "delta": delta}
            yield {"type": "content_block_stop", "index": i}
        yield {"type": "message_delta",
               "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
               "usage": {"output_tokens": message["usage"]["output_tokens"]}}
        yield {"type": "message_stop"}


class Responses:
    """POST /v1/responses: Codex."""
    path = re.compile(r"/responses$")
    models = {"object": "list", "data": [{"id": "fake-model", "object": "model", "owned_by": "lab", "created": 0}]}

    @classmethod
    def read(cls, body):
        events, tools = [], {}
        for item in body.get("input") or []:
            kind = item.get("type", "message")
            if kind == "message" and item.get("role") not in ("system", "developer"):
                events.append((item.get("role"), text_of(item.get("content"))))
            elif kind.endswith("_output"):
                events.append(("result", text_of(item.get("output"))))
            elif kind == "additional_tools":
                cls.declare(tools, item.get("tools"))
        cls.declare(tools, body.get("tools"))
        form = (body.get("text") or {}).get("format") or {}
        return events, tools, form.get("schema")

    @classmethod
    def declare(cls, tools, declared, namespace=None):
        for tool in declared or []:
            extra = {"x-namespace": namespace} if namespace else {}
            if tool.get("type") == "namespace":
                cls.declare(tools, tool.get("tools"), tool.get("name"))
            elif tool.get("type") == "custom":
                script = tool["name"] == "exec" and "tools.exec_command" in tool.get("description", "")
                tools[tool["name"]] = {"x-freeform": True, "x-javascript": script, **extra}
            elif tool.get("name"):
                tools[tool["name"]] = {**(tool.get("parameters") or {}), **extra}

    @staticmethod
    def write(turn, model, tokens):
        output = []
        if turn["text"]:
            part = {"type": "output_text", "text": turn["text"], "annotations": []}
            output.append({"type": "message", "id": new_id("msg_"), "role": "assistant",
                           "status": "completed", "content": [part]})
        for name, given in turn["calls"]:
            call = {"status": "completed", "call_id": new_id("call_"), "name": name}
            if turn["tools"].get(name, {}).get("x-namespace"):
                call["namespace"] = turn["tools"][name]["x-namespace"]
            if isinstance(given, str):
                output.append({"type": "custom_tool_call", "id": new_id("ctc_"), **call, "input": given})
            else:
                output.append({"type": "function_call", "id": new_id("fc_"), **call,
                               "arguments": json.dumps(given)})
        read = tokens["input"] + tokens["cache_read"]
        return {"id": new_id("resp_"), "object": "response", "created_at": int(time.time()),
                "status": "completed", "model": model, "output": output, "error": None,
                "incomplete_details": None, "parallel_tool_calls": False, "tools": [],
                "usage": {"input_tokens": read, "output_tokens": tokens["output"],
                          "input_tokens_details": {"cached_tokens": tokens["cache_read"]},
                          "output_tokens_details": {"reasoning_tokens": 0},
                          "total_tokens": read + tokens["output"]}}

    @classmethod
    def stream(cls, response):
        early = dict(response, status="in_progress", output=[], usage=None)
        numbered = [{"type": "response.created", "response": early},
                    {"type": "response.in_progress", "response": early}]
        for i, item in enumerate(response["output"]):
            numbered += cls.item(i, item)
        numbered.append({"type": "response.completed", "response": response})
        for number, event in enumerate(numbered):
            yield {**event, "sequence_number": number}

    @staticmethod
    def item(i, item):
        here = {"output_index": i, "item_id": item["id"]}
        if item["type"] == "message":
            part, at = item["content"][0], {**here, "content_index": 0}
            yield {"type": "response.output_item.added", "output_index": i,
                   "item": dict(item, status="in_progress", content=[])}
            yield {"type": "response.content_part.added", **at, "part": dict(part, text="")}
            for delta in pieces(part["text"]):
                yield {"type": "response.output_text.delta", **at, "delta": delta}
            yield {"type": "response.output_text.done", **at, "text": part["text"]}
            yield {"type": "response.content_part.done", **at, "part": part}
        else:
            key, stem = ("arguments", "function_call_arguments") if item["type"] == "function_call" \
                else ("input", "custom_tool_call_input")
            yield {"type": "response.output_item.added", "output_index": i,
                   "item": dict(item, status="in_progress", **{key: ""})}
            yield {"type": f"response.{stem}.delta", **here, "delta": item[key]}
            yield {"type": f"response.{stem}.done", **here, key: item[key]}
        yield {"type": "response.output_item.done", "output_index": i, "item": item}


class Chat:
    """POST /v1/chat/completions: Qwen Code, GitHub Copilot CLI, OpenCode."""
    path = re.compile(r"/chat/completions$")
    models = Responses.models

    @staticmethod
    def read(body):
        events = []
        for message in body.get("messages", []):
            role = message.get("role")
            if role not in ("system", "developer"):
                events.append(("result" if role == "tool" else role, text_of(message.get("content"))))
        functions = [t.get("function") or {} for t in body.get("tools") or []]
        tools = {f["name"]: f.get("parameters") or {} for f in functions if f.get("name")}
        form = body.get("response_format") or {}
        return events, tools, (form.get("json_schema") or {}).get("schema")

    @staticmethod
    def write(turn, model, tokens):
        message = {"role": "assistant", "content": turn["text"] or None}
        if turn["calls"]:
            message["tool_calls"] = [
                {"index": i, "id": new_id("call_"), "type": "function",
                 "function": {"name": name, "arguments": json.dumps(given)}}
                for i, (name, given) in enumerate(turn["calls"])]
        read = tokens["input"] + tokens["cache_read"]
        return {"id": new_id("chatcmpl-"), "object": "chat.completion", "created": int(time.time()), "model": model,
                "choices": [{"index": 0, "message": message, "logprobs": None,
                             "finish_reason": "tool_calls" if turn["calls"] else "stop"}],
                "usage": {"prompt_tokens": read, "completion_tokens": tokens["output"],
                          "prompt_tokens_details": {"cached_tokens": tokens["cache_read"]},
                          "total_tokens": read + tokens["output"]}}

    @staticmethod
    def stream(answer):
        base = {**{k: answer[k] for k in ("id", "created", "model")}, "object": "chat.completion.chunk"}
        choice = answer["choices"][0]

        def chunk(delta, finish=None):
            return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

        yield chunk({"role": "assistant", "content": ""})
        for part in pieces(choice["message"]["content"] or ""):
            yield chunk({"content": part})
        for call in choice["message"].get("tool_calls", []):
            named = dict(call, function={"name": call["function"]["name"], "arguments": ""})
            yield chunk({"tool_calls": [named]})
            given = {"index": call["index"], "function": {"arguments": call["function"]["arguments"]}}
            yield chunk({"tool_calls": [given]})
        yield chunk({}, choice["finish_reason"])
        yield {**base, "choices": [], "usage": answer["usage"]}
        yield "[DONE]"


class Gemini:
    """POST /v1beta/models/NAME:generateContent and :streamGenerateContent: Gemini CLI."""
    path = re.compile(r"/models/[^/]+:(stream)?[gG]enerateContent$")
    models = {"models": [{"name": "models/fake-model"}]}

    @staticmethod
    def read(body):
        events, tools = [], {}
        for content in body.get("contents") or []:
            role = "assistant" if content.get("role") == "model" else "user"
            for part in content.get("parts") or []:
                if "functionResponse" in part:
                    events.append(("result", json.dumps(part["functionResponse"].get("response"))))
                elif "text" in part and not part.get("thought"):
                    events.append((role, part["text"]))
        for declared in body.get("tools") or []:
            for tool in declared.get("functionDeclarations") or []:
                tools[tool["name"]] = tool.get("parametersJsonSchema") or tool.get("parameters") or {}
        form, schema = body.get("generationConfig") or {}, None
        if form.get("responseMimeType") == "application/json":
            schema = form.get("responseJsonSchema") or form.get("responseSchema") or {}
        return events, tools, schema

    @staticmethod
    def write(turn, model, tokens):
        parts = [{"text": turn["text"]}] if turn["text"] or not turn["calls"] else []
        parts += [{"functionCall": {"id": new_id("fc-"), "name": name, "args": given}}
                  for name, given in turn["calls"]]
        read = tokens["input"] + tokens["cache_read"]
        return {"id": new_id(""), "modelVersion": model,
                "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": parts}}],
                "usageMetadata": {"promptTokenCount": read, "cachedContentTokenCount": tokens["cache_read"],
                                  "candidatesTokenCount": tokens["output"],
                                  "totalTokenCount": read + tokens["output"]}}

    @staticmethod
    def stream(message):
        yield {"responseId": message["id"], **message}


DIALECTS = [Anthropic, Responses, Chat, Gemini]
