// The log as a person at a terminal reads it: one short line for each request, and pino-pretty for everything else.
import { prettyFactory } from 'pino-pretty';

export interface TerminalLogOptions {
  readonly colorize: boolean;
  /** Whether entries of batches and refused permissions have lines of their own. */
  readonly showsDetails: boolean;
}

/** Types of lines that repeat what the line of the request says. */
const details: readonly unknown[] = ['subrequest.summary', 'Permission refused'];
const maxTargetChars = 300;

/** Returns what makes the text of a log line for a terminal from its JSON; `''` for lines that are left out. */
export function terminalFormat({ colorize, showsDetails }: TerminalLogOptions): (line: string) => string {
  const format = prettyFactory({ colorize, translateTime: 'SYS:HH:MM:ss', ignore: 'name' });
  return (line) => {
    const fields = parseFields(line);
    if (fields['msg'] === 'request.summary') return formatRequest(fields);
    return !showsDetails && details.includes(fields['msg']) ? '' : format(line);
  };
}

function parseFields(line: string): Readonly<Record<string, unknown>> {
  const fields: unknown = JSON.parse(line);
  return typeof fields === 'object' && fields !== null ? { ...fields } : {};
}

/** Returns `GET /v1/buckets 200 18ms basicauth:…`, with what else matters in parentheses. */
function formatRequest(fields: Readonly<Record<string, unknown>>): string {
  const text = (name: string): string => {
    const value = fields[name];
    return neutralize(typeof value === 'string' ? value : JSON.stringify(value ?? null));
  };
  const query = fields['querystring'] === undefined ? '' : `?${text('querystring')}`;
  const target = shorten(text('path') + query);
  const user = fields['uid'] === undefined ? '-' : text('uid');
  const notes = [
    ...(fields['batch_size'] === undefined ? [] : [`${text('batch_size')} requests`]),
    ...(fields['pid'] === undefined ? [] : [`process ${text('pid')}`]),
  ];
  const end = notes.length === 0 ? '' : ` (${notes.join(', ')})`;
  return `${text('method')} ${target} ${text('code')} ${text('t')}ms ${user}${end}\n`;
}

function shorten(target: string): string {
  return target.length > maxTargetChars ? `${target.slice(0, maxTargetChars)}…` : target;
}

/** Clients choose paths and names: what steers a terminal, or hides text on it, is written as its code point. */
function neutralize(text: string): string {
  return text.replaceAll(
    /[\p{C}\u2028\u2029]/gu,
    (character) => String.raw`\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}
