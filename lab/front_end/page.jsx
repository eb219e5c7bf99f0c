// A page that talks to a gateway, made of what others publish: `useChat` of @ai-sdk/react and the transport of ai. What it
// adds is the address, the token, and the two things that a chat has no request for: an answer to a permission, and that a
// run is cancelled.
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

const { gateway, token, agent, conversation } = window.settings;
const session = `${gateway}/v1/sessions/${encodeURIComponent(conversation)}`;
const headers = { authorization: `Bearer ${token}` };
const transport = new DefaultChatTransport({
  api: `${session}/messages?format=ui-messages`,
  headers,
  // The agent remembers the conversation itself, so that it is told what is new; without `resume` it would be told all.
  prepareSendMessagesRequest: ({ messages }) => ({ body: { agent, messages: messages.slice(-1), resume: true } }),
  prepareReconnectToStreamRequest: () => ({ api: `${session}/messages/stream?format=ui-messages`, headers }),
});

const post = (path, body) =>
  fetch(`${session}/${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body ?? {}),
  });

function Tool({ part }) {
  const answer = approved => post(`interactions/${part.approval.id}`, { approved });
  return (
    <div className="tool" data-state={part.state} data-name={part.toolName}>
      <b>{part.title ?? part.toolName}</b> <i>{part.state}</i>
      <div><code>{JSON.stringify(part.input)}</code></div>
      {part.output !== undefined && <div className="output"><code>{String(part.output)}</code></div>}
      {part.errorText && <div className="failure">{part.errorText}</div>}
      {part.state === 'approval-requested' && (
        <div className="permission">
          <span>{part.approval.requestReason}</span>{' '}
          <button className="allow" onClick={() => answer(true)}>Allow</button>{' '}
          <button className="refuse" onClick={() => answer(false)}>Refuse</button>
        </div>
      )}
    </div>
  );
}

function Part({ part }) {
  switch (part.type) {
    case 'text':
      return <div className="text">{part.text}</div>;
    case 'reasoning':
      return <div className="reasoning">{part.text}</div>;
    case 'dynamic-tool':
      return <Tool part={part} />;
    default:
      return null;
  }
}

function Chat({ past }) {
  const { messages, sendMessage, status, error } = useChat({ id: conversation, messages: past, transport, resume: true });
  const [text, setText] = useState('');
  const busy = status === 'submitted' || status === 'streaming';
  const send = event => {
    event.preventDefault();
    sendMessage({ text });
    setText('');
  };
  return (
    <main>
      {messages.map(message => (
        <div key={message.id} id={message.id} data-role={message.role} data-end={message.metadata?.end?.status}>
          {message.parts.map((part, at) => <Part key={at} part={part} />)}
        </div>
      ))}
      <p>status: <b id="status">{status}</b></p>
      {error && <p id="error">{error.message}</p>}
      <form onSubmit={send}>
        <textarea id="text" rows={3} cols={70} value={text} onChange={event => setText(event.target.value)} />
        <button id="send" disabled={busy}>Send</button>
        <button id="stop" type="button" disabled={!busy} onClick={() => post('messages/cancel')}>Stop</button>
      </form>
    </main>
  );
}

// What was said before is the gateway's to tell; of the turn that runs, the stream tells.
function Page() {
  const [past, setPast] = useState();
  useEffect(() => {
    fetch(`${session}/messages?format=ui-messages`, { headers })
      .then(response => response.json())
      .then(page => setPast(page.items));
  }, []);
  return past ? <Chat past={past} /> : <p>…</p>;
}

createRoot(document.getElementById('page')).render(<Page />);
