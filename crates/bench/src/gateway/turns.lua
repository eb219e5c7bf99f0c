-- Turns as the bench's own client commits them: each thread of wrk has one connection, and one session with its lease.
local threads = 0

function setup(thread)
  thread:set("mine", threads)
  threads = threads + 1
end

function init(args)
  local at = 0
  for line in io.lines(args[1]) do
    if at == mine then
      session, token, epoch, head = line:match("(%S+) (%S+) (%S+) (%S+)")
    end
    at = at + 1
  end
  turn = 0
  local text = io.open(args[2]):read("*a")
  prompt, answer = text:match("^(.-)\n(.*)$")
  wrk.headers["authorization"] = "Bearer " .. token
  wrk.headers["content-type"] = "application/json"
end

function request()
  turn = turn + 1
  local body = string.format(
    '{"epoch":%s,"expected_head":%s,"events":[{"type":"prompt","key":"w%d.p","text":%s},' ..
    '{"type":"message","key":"w%d.m","text":%s}]}', epoch, head, turn, prompt, turn, answer)
  return wrk.format("PUT", "/v1/sessions/" .. session .. "/turns/w" .. turn, nil, body)
end

function response(status, headers, body)
  if status == 200 and body:find('"already":false', 1, true) then
    head = body:match('"last":(%d+)')
  else
    wrk.thread:stop()
  end
end

function done(summary, latency, requests)
  io.write(string.format('\n{"n":%d,"seconds":%f,"p50_ms":%f,"p99_ms":%f,"failed":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
