// The messages that carry hints between processes: JSON with the id of the sender. A message that arrives is input: any client
// of the server may have sent it.
import type { ChangeHint } from '../../contracts/change-hints.ts';
import { storedParent, storedUri } from '../../core/objects/uris.ts';
import { maxHints } from './pending-hints.ts';

export interface HintMessage {
  /** Id of the process that has sent it. */
  readonly from: string;
  readonly hints: readonly ChangeHint[];
}

/**
 * Returns messages with the hints in their order, of at most so many bytes each. A hint that does not fit in a message by
 * itself makes all of them one hint that anything may have changed.
 */
export function formatMessages(from: string, hints: readonly ChangeHint[], maxBytes: number): readonly string[] {
  const [head, tail] = [`{"from":${JSON.stringify(from)},"hints":[`, ']}'];
  const room = maxBytes - Buffer.byteLength(head) - tail.length;
  const messages: string[] = [];
  let [text, bytes] = ['', 0];
  for (const hint of hints) {
    const next = formatHint(hint);
    const size = Buffer.byteLength(next);
    if (size > room) return [`${head}{"any":true}${tail}`];
    if (text !== '' && bytes + 1 + size > room) {
      messages.push(head + text + tail);
      [text, bytes] = ['', 0];
    }
    bytes += text === '' ? size : size + 1;
    text += text === '' ? next : `,${next}`;
  }
  if (text !== '') messages.push(head + text + tail);
  return messages;
}

/** Returns the JSON of a hint, with the members that its type names and no others. */
function formatHint(hint: ChangeHint): string {
  if (!('list' in hint)) return JSON.stringify(hint);
  const { kind, parent } = hint.list;
  return JSON.stringify({ list: { kind, parent } });
}

/** Returns what a message says; `undefined` when it is no such message, or larger than any that is sent. */
export function parseMessage(text: string, maxBytes: number): HintMessage | undefined {
  if (text.length > maxBytes) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { from, hints } = value;
  if (typeof from !== 'string' || !Array.isArray(hints) || hints.length > maxHints) return undefined;
  const parsed = hints.map(parseHint);
  return parsed.every((hint) => hint !== undefined) ? { from, hints: parsed } : undefined;
}

function parseHint(value: unknown): ChangeHint | undefined {
  if (!isRecord(value)) return undefined;
  const { list, below, flushed, any } = value;
  if (isRecord(list)) {
    const { kind, parent } = list;
    return typeof kind === 'string' && typeof parent === 'string'
      ? { list: { kind, parent: storedParent(parent) } }
      : undefined;
  }
  if (typeof below === 'string') return { below: storedUri(below) };
  if (flushed === true) return { flushed };
  return any === true ? { any } : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
