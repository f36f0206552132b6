// The request runner: method, path, headers and body; the same request as code; the response with its time.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { serviceUrl } from '../../core/api.ts';
import { sentenceOf } from '../../core/errors.ts';
import { pageHashOf } from '../../core/places.ts';
import { navigate } from '../../core/router.ts';
import { useApp } from '../../ui/app-context.ts';
import { ask, askForWord } from '../../ui/dialog.tsx';
import { useAttempt, useWork } from '../../ui/hooks.ts';
import { Button, FailureNote, Field } from '../../ui/parts.tsx';
import type { PageProps } from '../area.ts';
import { CodeView } from './code-view.tsx';
import './developer.css';
import { ResponseView, type ShownResponse } from './response-view.tsx';
import { methods, parseHeaders, riskOf, targetOf, type Target } from './target.ts';

/** Time after which a request is cancelled, such as a live stream. */
const timeoutMilliseconds = 60_000;
const anyStatus = Array.from({ length: 600 }, (_value, status) => status);

export function RequestsPage({ query }: PageProps): JSX.Element {
  const { api, service } = useApp();
  // A link may come from anyone, so it names a method of the list or none.
  const asked = {
    method: methods.find((each) => each === query.get('_method')) ?? 'GET',
    path: query.get('_path') ?? 'buckets',
  };
  const [method, setMethod] = useState<string>(asked.method);
  const [path, setPath] = useState(asked.path);
  const [headers, setHeaders] = useState('');
  const [body, setBody] = useState('');
  const [sent, setSent] = useState('');
  const [response, setResponse] = useState<ShownResponse | undefined>(undefined);
  const running = useRef<AbortController | undefined>(undefined);
  const { error, isBusy, attempt } = useAttempt();
  useEffect(() => {
    setMethod(asked.method);
    setPath(asked.path);
  }, [asked.method, asked.path]);
  useEffect(() => () => running.current?.abort(), []);
  const work = useWork(`${service.userId ?? ''}.request`, { text: body, original: sent, etag: '' });
  const target = read(() => targetOf(path));
  const given = read(() => parseHeaders(headers));
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const send = (): Promise<void> =>
    attempt(async () => {
      const to = targetOf(path);
      const extra = parseHeaders(headers);
      if (!(await isMeant(method, to))) return;
      setSent(body);
      work.discardDraft();
      navigate(pageHashOf('requests', { _method: method, _path: path }), { replaces: true });
      const cancelled = new AbortController();
      running.current = cancelled;
      const timer = setTimeout(() => cancelled.abort(), timeoutMilliseconds);
      const start = performance.now();
      setResponse(undefined);
      try {
        const answer = await api.request(method, to.path, {
          query: to.query,
          headers: extra,
          allowed: anyStatus,
          signal: cancelled.signal,
          ...(hasBody && body !== '' ? { body } : {}),
        });
        setResponse({ ...answer, milliseconds: performance.now() - start });
      } catch (failure) {
        if (!cancelled.signal.aborted) throw failure;
        throw new Error('The request was cancelled before the response was complete.', { cause: failure });
      } finally {
        clearTimeout(timer);
      }
    });
  return (
    <>
      <header class="page-head">
        <h1 tabIndex={-1}>Requests</h1>
        <p class="facts">
          <a href={new URL('docs', serviceUrl).href} target="_blank" rel="noopener noreferrer">
            Reference of the API
          </a>
        </p>
      </header>
      <form
        class="runner"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <div class="row">
          <Field label="Method">
            {(attributes) => (
              <select {...attributes} value={method} onChange={(event) => setMethod(event.currentTarget.value)}>
                {methods.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label={`Path below ${new URL(serviceUrl).pathname}`}>
            {(attributes) => (
              <input
                {...attributes}
                required
                autocomplete="off"
                spellcheck={false}
                value={path}
                onInput={(event) => setPath(event.currentTarget.value)}
              />
            )}
          </Field>
          <button type="submit" class="primary" data-key="save" disabled={isBusy}>
            Send
          </button>
          {isBusy ? <Button onClick={() => running.current?.abort()}>Cancel</Button> : null}
        </div>
        <details open={hasBody || headers !== ''}>
          <summary>Headers and body</summary>
          <Field label="Headers" hint='One on each line, such as If-Match: "1795251524177". The sign-in is added.'>
            {(attributes) => (
              <textarea
                {...attributes}
                rows={2}
                spellcheck={false}
                value={headers}
                onInput={(event) => setHeaders(event.currentTarget.value)}
              />
            )}
          </Field>
          <Field label="Body" hint={hasBody ? 'JSON, sent exactly as it is written.' : `${method} has no body.`}>
            {(attributes) => (
              <textarea
                {...attributes}
                rows={8}
                spellcheck={false}
                disabled={!hasBody}
                placeholder='{"data": {"title": "…"}}'
                value={body}
                onInput={(event) => setBody(event.currentTarget.value)}
              />
            )}
          </Field>
          {work.draft === undefined ? null : (
            <Button class="small" onClick={() => setBody(work.draft?.text ?? '')}>
              Restore the unsent body
            </Button>
          )}
        </details>
        <FailureNote error={error} />
      </form>
      {response === undefined ? null : <ResponseView response={response} />}
      {target.value === undefined || given.value === undefined ? (
        <p class="note">{target.fault ?? given.fault}</p>
      ) : (
        <CodeView
          request={{
            method,
            url: target.value.url,
            headers: given.value,
            body: hasBody ? body : '',
            authorization: api.authorization,
          }}
        />
      )}
    </>
  );
}

interface Read<Value> {
  readonly value?: Value;
  readonly fault?: string;
}

function read<Value>(get: () => Value): Read<Value> {
  try {
    return { value: get() };
  } catch (error) {
    // Shown in place of the code.
    return { fault: sentenceOf(error) };
  }
}

function isMeant(method: string, { path, url }: Target): Promise<boolean> {
  const title = `Send this ${method}?`;
  const { pathname } = new URL(url);
  const risk = riskOf(method, path);
  if (risk === 'none') return Promise.resolve(true);
  if (risk === 'question') {
    const text = method === 'PUT' ? `It replaces ${pathname} if it exists.` : 'A batch can contain deletions.';
    return ask({ title, text, yes: 'Send', no: 'Do not send' });
  }
  const text = `It deletes ${pathname} with everything in it. This cannot be undone.`;
  return askForWord({ title, text, yes: 'Send', word: method });
}
