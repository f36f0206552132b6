// A response: status, time, headers and body. JSON is indented as text, so numbers keep their digits.
import type { JSX } from 'preact';
import type { Answer } from '../../core/api.ts';
import { formatSize } from '../../core/format.ts';
import { indentJson } from '../../core/json-text.ts';

export interface ShownResponse extends Answer {
  readonly milliseconds: number;
}

/** Maximum number of characters of a body that are shown. */
const shownLimit = 200_000;

export function ResponseView({ response }: { readonly response: ShownResponse }): JSX.Element {
  const { status, headers, text, milliseconds } = response;
  const bytes = new TextEncoder().encode(text).length;
  const shown = textOf(response);
  return (
    <section class="panel response" aria-label="Response">
      <h2>
        <span class={status < 400 ? 'badge' : 'badge bad'}>{status}</span> Response
      </h2>
      <p class="facts" role="status">
        Status {status}, {Math.max(Math.round(milliseconds), 1)} ms, {formatSize(bytes)}
      </p>
      <details>
        <summary>Headers</summary>
        <pre tabIndex={0}>{[...headers].map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>
      </details>
      {shown === '' ? (
        <p class="quiet">The response has no body.</p>
      ) : (
        <pre tabIndex={0} aria-label="Body of the response">
          {shown.slice(0, shownLimit)}
        </pre>
      )}
      {shown.length > shownLimit ? <p class="note">Only the beginning is shown.</p> : null}
    </section>
  );
}

function textOf({ headers, text }: ShownResponse): string {
  if (headers.get('Content-Type')?.includes('json') !== true || text.length > shownLimit) return text;
  return text === '' ? '' : indentJson(text);
}
