// Siglum's plug-in for Pi. `siglum init` writes this file, and `siglum uninstall` removes it.
//
// It tells `siglum hook pi` what Pi tells its extensions: lines of the record protocol (docs/record.schema.json) with
// the session file beside them, one for each call, so that files are looked at before and after a tool changes them.
// Answers, tokens and compactions are in the session file, which Siglum reads itself. Nothing here stops Pi: what fails is left
// out, and `siglum doctor` shows gaps.
import { spawnSync } from "node:child_process"

const SIGLUM = "siglum"
/** Longest text and longest content that is sent, in characters. */
const TEXT_MOST = 100_000
const CONTENT_MOST = 500_000
/** How long Pi waits for a call, in milliseconds. */
const PATIENCE = 10_000

const KINDS: Record<string, string> = { write: "edit", edit: "edit", bash: "shell", powershell: "shell" }

const cut = (text: unknown, most = TEXT_MOST) => (typeof text === "string" ? text.slice(0, most) : undefined)

/** A content, whole or not at all: a part of it would say that somebody else wrote the rest. */
const whole = (text: unknown) => (typeof text === "string" && text.length <= CONTENT_MOST ? text : undefined)

/** Half a surrogate pair, which a cut leaves too, has no form in UTF-8. */
const wellFormed = (_: string, value: any) => (typeof value === "string" ? (value as any).toWellFormed() : value)

/** A call's id as lines may have it, without what OpenAI's Responses API adds to it: that is long, and has slashes. */
const idOf = (call: string) => call.split("|")[0].replace(/[\s/\\\p{Cc}]|\.\./gu, "_").slice(0, 200)

/** What a call was given; of an edit, only names and sizes are kept, so long ones need not be sent. */
function inputOf(input: any) {
  const text = JSON.stringify(input ?? {})
  if (text.length <= TEXT_MOST) return input ?? {}
  const short = ([name, value]: [string, unknown]) => [name, typeof value === "string" ? cut(value, 1000) : null]
  return Object.fromEntries(Object.entries(input).map(short as any))
}

/** What a call says it wrote: whole lines, which the texts that it was given need not be. */
function written(tool: string, input: any, details: any) {
  if (tool === "write") return { after: whole(input?.content) }
  const patch = details?.patch
  if (tool !== "edit" || typeof patch !== "string") return {}
  const added = patch.slice(patch.indexOf("\n@@")).split("\n").filter((line) => line.startsWith("+"))
  return { after: whole(added.map((line) => line.slice(1)).join("\n")) }
}

/** The id in the name of a session file: `<time>_<id>.jsonl`. */
const idIn = (file?: string) => file?.match(/_([^/\\]+)\.jsonl$/)?.[1]

export default function (pi: any) {
  const call = (ctx: any, type: string, fields: Record<string, unknown>) => {
    const sessions = ctx.sessionManager
    const line = {
      v: 1, type, session: sessions.getSessionId(), cwd: ctx.cwd, transcript_path: sessions.getSessionFile(), ...fields,
    }
    try {
      spawnSync(SIGLUM, ["hook", "pi"], {
        input: JSON.stringify(line, wellFormed), timeout: PATIENCE, stdio: ["pipe", "ignore", "ignore"],
      })
    } catch {}
  }
  const on = (name: string, tell: (event: any, ctx: any) => void) =>
    pi.on(name, async (event: any, ctx: any) => {
      try {
        tell(event, ctx)
      } catch {}
    })
  let lines = 0
  const fresh = (what: string) => `${what}:${process.pid}:${Date.now()}:${lines++}`
  const paths = (input: any) => (typeof input?.path === "string" ? [input.path] : undefined)

  on("session_start", (event, ctx) => {
    if (event.reason === "reload") return
    const sessions = ctx.sessionManager
    const header = sessions.getHeader?.() ?? {}
    const parent = idIn(header.parentSession)
    const messages = (sessions.getEntries?.() ?? []).filter((entry: any) => entry.type === "message")
    // Without a screen, Pi says `startup` whatever it does. What is older than the session is a fork's copy.
    const isOld = messages.some((entry: any) => entry.timestamp >= header.timestamp)
    const started = parent && !isOld ? "fork" : messages.length > 0 ? "resume" : "startup"
    const source = event.reason === "new" ? "clear" : started
    call(ctx, "session_start", { id: fresh("start"), source, parent: source === "fork" ? parent : undefined })
  })
  on("session_shutdown", (event, ctx) => {
    if (event.reason !== "reload") call(ctx, "session_end", { id: fresh("end"), reason: event.reason })
  })
  on("before_agent_start", (event, ctx) => call(ctx, "prompt", { id: fresh("prompt"), text: cut(event.prompt) ?? "" }))
  on("agent_settled", (_, ctx) => call(ctx, "turn_end", { id: fresh("settled") }))
  on("tool_call", ({ toolName, toolCallId, input }, ctx) => {
    const kind = KINDS[toolName] ?? "other"
    const edited = kind === "edit" ? paths(input) : undefined
    call(ctx, "tool_call", {
      id: `call:${idOf(toolCallId)}`, call: idOf(toolCallId), tool: toolName, kind, paths: edited, input: inputOf(input),
    })
  })
  on("tool_result", ({ toolName, toolCallId, input, content, details, isError }, ctx) => {
    const kind = KINDS[toolName] ?? "other"
    const texts = (content ?? []).filter((part: any) => part.type === "text").map((part: any) => part.text)
    const id = idOf(toolCallId)
    call(ctx, "tool_result", {
      id: `result:${id}`, call: id, tool: toolName, kind, paths: kind === "edit" ? paths(input) : undefined,
      outcome: isError ? "failed" : "ok", output: cut(texts.join("\n")), ...(isError ? {} : written(toolName, input, details)),
    })
  })
}
