// Siglum's plug-in for OpenCode. `siglum init` writes this file, and `siglum uninstall` removes it.
//
// It tells `siglum hook opencode` what OpenCode tells its plug-ins: lines of the record protocol
// (docs/record.schema.json), one for each call, so that files are looked at before and after a tool changes them.
// Nothing here stops OpenCode: what fails is left out, and `siglum doctor` shows gaps.
import { spawnSync } from "node:child_process"

const SIGLUM = "siglum"
/** The variable by which commits find the session of the shell that they are made in. */
const SESSION = "SIGLUM_OPENCODE_SESSION_ID"
/** Longest text and longest content that is sent, in characters. */
const TEXT_MOST = 100_000
const CONTENT_MOST = 500_000
/** How long OpenCode waits for a call, in milliseconds. */
const PATIENCE = 10_000

const KINDS = {
  write: "edit", edit: "edit", multiedit: "edit", patch: "edit", apply_patch: "edit", bash: "shell", task: "agent",
}

const cut = (text, most = TEXT_MOST) => (typeof text === "string" ? text.slice(0, most) : undefined)

/** A content, whole or not at all: a part of it would say that somebody else wrote the rest. */
const whole = (text) => (typeof text === "string" && text.length <= CONTENT_MOST ? text : undefined)

/** Half a surrogate pair, which a cut leaves too, has no form in UTF-8. */
const wellFormed = (_, value) => (typeof value === "string" ? value.toWellFormed() : value)

/** A call's id as lines may have it: those of some providers are long, or have slashes. */
const idOf = (call) => call.replace(/[\s/\\\p{Cc}]|\.\./gu, "_").slice(0, 200)

/** A callback that stops nothing: what fails in it is left out. */
const harmless = (callback) => async (...given) => {
  try {
    await callback(...given)
  } catch {}
}

/** What a promise comes to; nothing if that takes long. */
const soon = (promise) => {
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE).unref())
  return Promise.race([promise, late]).catch(() => undefined)
}

/** The files that a call changes. */
function pathsOf(tool, args) {
  if (KINDS[tool] !== "edit") return undefined
  if (typeof args?.filePath === "string") return [args.filePath]
  const patch = args?.patchText ?? args?.patch ?? args?.input
  if (typeof patch !== "string") return undefined
  const named = patch.matchAll(/^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$/gm)
  return [...new Set([...named].map((match) => match[1].trim()))].slice(0, 256)
}

/** Whether a text has all lines that a diff adds, but for their indentation, which the diff does not tell. */
function hasAdded(text, diff) {
  if (typeof text !== "string" || typeof diff !== "string") return false
  const lines = new Set(text.split("\n").map((line) => line.trim()))
  const hunks = diff.slice(diff.indexOf("\n@@")).split("\n")
  return hunks.every((line) => !line.startsWith("+") || lines.has(line.slice(1).trim()))
}

/** What a call says it wrote. Lines of which it replaced a part are not in its own words: all that changed counts then. */
function written(tool, args, metadata) {
  if (tool === "edit") return hasAdded(args?.newString, metadata?.diff) ? { after: whole(args.newString) } : {}
  if (tool !== "write") return {}
  const after = whole(args?.content)
  return metadata?.exists === false ? { before: null, after } : { after }
}

/** What a call was given; of an edit, only names and sizes are kept, so long ones need not be sent. */
function inputOf(args) {
  const text = JSON.stringify(args ?? {})
  if (text.length <= TEXT_MOST) return args ?? {}
  const short = ([name, value]) => [name, typeof value === "string" ? cut(value, 1000) : null]
  return Object.fromEntries(Object.entries(args).map(short))
}

export const Siglum = async ({ directory, client }) => {
  /** The session that a sub-agent's belongs to. */
  const parents = new Map()
  /** Since when sessions run in this process: what is older is history, which a fork copies message by message. */
  const started = new Map()
  /** The prompt that each session works on. */
  const turns = new Map()
  /** Calls that have not returned. */
  const open = new Map()
  const counted = new Set()

  function send(session, type, fields) {
    const root = rootOf(session)
    const line = { v: 1, type, session: root, cwd: directory, turn: turns.get(root), ...fields }
    if (root !== session) line.subagent = session
    try {
      spawnSync(SIGLUM, ["hook", "opencode"], {
        input: JSON.stringify(line, wellFormed), timeout: PATIENCE, stdio: ["pipe", "ignore", "ignore"],
      })
    } catch {}
  }

  function rootOf(session) {
    let root = session
    for (let depth = 0; depth < 16 && parents.get(root); depth++) root = parents.get(root)
    return root
  }

  /** Says that a session runs, if that was not said yet. */
  async function begin(session, info) {
    if (started.has(session)) return
    started.set(session, info?.time?.created ?? Date.now())
    const isNew = info !== undefined
    info ??= (await soon(client.session.get({ path: { id: session } })))?.data
    if (info?.parentID) {
      parents.set(session, info.parentID)
      return send(session, "subagent_start", { id: `start:${session}`, subagent: session })
    }
    // A fork has the history of another session, and only its title says so.
    const source = !isNew ? "resume" : / \(fork #\d+\)$/.test(info.title ?? "") ? "fork" : "startup"
    send(session, "session_start", { id: `start:${process.pid}:${Date.now()}`, source, turn: undefined })
  }

  function end(session) {
    if (parents.has(session) || !started.delete(session)) return
    send(session, "session_end", { id: `end:${process.pid}:${Date.now()}`, reason: "exit", turn: undefined })
  }

  function returned(session, call, fields) {
    const { tool, args } = open.get(call)
    open.delete(call)
    const [id, paths] = [idOf(call), pathsOf(tool, args)]
    send(session, "tool_result", { id: `result:${id}`, call: id, tool, kind: KINDS[tool] ?? "other", paths, ...fields })
  }

  const events = {
    "session.created": ({ info }) => begin(info.id, info),
    "session.idle": ({ sessionID }) => {
      const turn = turns.get(sessionID)
      if (turn) send(sessionID, "turn_end", { id: `idle:${sessionID}:${turn}:${Date.now()}` })
    },
    "session.compacted": ({ sessionID }) => send(sessionID, "compaction", { id: `compacted:${Date.now()}` }),
    "message.updated": ({ info }) => {
      const done = info.role === "assistant" && info.time?.completed && !counted.has(info.id)
      if (!done || !(info.time.created >= started.get(info.sessionID))) return
      counted.add(info.id)
      const { input, output, reasoning, cache } = info.tokens
      send(info.sessionID, "usage", {
        id: `usage:${info.id}`, message: info.id, model: info.modelID, input, output: output + (reasoning ?? 0),
        cache_read: cache?.read, cache_write: cache?.write,
      })
    },
    "message.part.updated": ({ part }) => {
      const state = part.state
      if (part.type !== "tool" || !open.has(part.callID)) return
      const child = state.metadata?.sessionId
      if (child && parents.has(child) && !counted.has(child)) {
        counted.add(child)
        const agent_type = state.input?.subagent_type
        send(child, "subagent_start", { id: `call:${child}`, subagent: child, call: idOf(part.callID), agent_type })
      }
      // A call that fails has no callback of its own.
      if (state.status === "error") {
        returned(part.sessionID, part.callID, { outcome: "failed", output: cut(state.error) })
      }
    },
  }

  const callbacks = {
    dispose: async () => [...started.keys()].forEach(end),
    event: async ({ event }) => events[event.type]?.(event.properties),
    "chat.message": async ({ sessionID }, { message, parts }) => {
      await begin(sessionID)
      const texts = parts.filter((part) => part.type === "text")
      const synthetic = texts.length > 0 && texts.every((part) => part.synthetic)
      const text = cut(texts.map((part) => part.text).join("\n")) ?? ""
      turns.set(sessionID, message.id)
      send(sessionID, "prompt", { id: `prompt:${message.id}`, text, synthetic })
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      await begin(sessionID)
      open.set(callID, { tool, args })
      const [call, paths] = [idOf(callID), pathsOf(tool, args)]
      const kind = KINDS[tool] ?? "other"
      send(sessionID, "tool_call", { id: `call:${call}`, call, tool, kind, paths, input: inputOf(args) })
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, { output, metadata }) => {
      if (!open.has(callID)) return
      const outcome = tool === "bash" && metadata?.exit ? "failed" : "ok"
      returned(sessionID, callID, { outcome, output: cut(output), ...written(tool, args, metadata) })
    },
    "shell.env": async ({ sessionID }, { env }) => {
      if (sessionID) env[SESSION] = rootOf(sessionID)
    },
    "experimental.text.complete": async ({ sessionID, messageID, partID }, { text }) => {
      if (text) send(sessionID, "message", { id: `text:${partID}`, message: messageID, text: cut(text) })
    },
  }
  return Object.fromEntries(Object.entries(callbacks).map(([name, callback]) => [name, harmless(callback)]))
}
