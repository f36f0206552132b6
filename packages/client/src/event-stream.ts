// Reads server-sent events from bytes.
import { CofferError } from './errors.ts';

/** One event. Members that the event does not have are absent. */
export interface StreamEvent {
  event?: string;
  id?: string;
  data?: string;
  retry?: string;
}

/** Maximum number of characters of one event, above the largest object that services accept by default. */
const maxChars = 2 ** 26;

/** Returns a function that takes the next bytes and returns the events that they complete. */
export function createEventReader(): (bytes: Uint8Array) => StreamEvent[] {
  const decoder = new TextDecoder();
  let rest = '';
  let event: StreamEvent = {};
  let chars = 0;
  return (bytes) => {
    const events: StreamEvent[] = [];
    const text = decoder.decode(bytes, { stream: true });
    rest += text;
    // A long line is not searched again for each of its parts.
    const lines = text.includes('\n') ? rest.split(/\r?\n/) : [rest];
    rest = lines.pop()!;
    for (const line of lines) {
      const [, name = '', value = ''] = /([^:]*):? ?(.*)/s.exec(line)!;
      if (line === '') {
        if (Object.keys(event).length > 0) events.push(event);
        event = {};
        chars = 0;
      } else if (name === 'data' && event.data !== undefined) event.data += `\n${value}`;
      else if (name !== '') event[name as keyof StreamEvent] = value;
      chars += line.length;
    }
    if (chars + rest.length > maxChars) throw new CofferError('parse', 'Event too long');
    return events;
  };
}
