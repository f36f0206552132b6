// Lines of the log for a terminal: one short line for each request, and pino-pretty for everything else.
import { prettyFactory } from 'pino-pretty';

export interface TerminalLogOptions {
  readonly colorize: boolean;
  /** Whether entries of batches and refused permissions have lines of their own. */
  readonly showsDetails: boolean;
}

/** Types of lines whose content is also in the line of the request. */
const details: readonly unknown[] = ['subrequest.summary', 'Permission refused'];
const maxTargetChars = 300;
const maxUserChars = 200;

/** Returns a function that formats a JSON line for a terminal; it returns `''` for lines that are left out. */
export function terminalFormat({ colorize, showsDetails }: TerminalLogOptions): (line: string) => string {
  const format = prettyFactory({ colorize, translateTime: 'SYS:HH:MM:ss', ignore: 'name' });
  return (line) => {
    const fields = parseFields(line);
    if (fields['msg'] === 'request.summary') return formatRequest(fields);
    return !showsDetails && details.includes(fields['msg']) ? '' : format(neutralizeAll(fields));
  };
}

function parseFields(line: string): Readonly<Record<string, unknown>> {
  const fields: unknown = JSON.parse(line);
  return typeof fields === 'object' && fields !== null ? { ...fields } : {};
}

/** Returns `GET /v1/buckets 200 18ms basicauth:…`, with further facts in parentheses. */
function formatRequest(fields: Readonly<Record<string, unknown>>): string {
  const text = (name: string): string => {
    const value = fields[name];
    return neutralize(typeof value === 'string' ? value : JSON.stringify(value ?? null));
  };
  const query = fields['querystring'] === undefined ? '' : `?${text('querystring')}`;
  const target = shorten(text('path') + query, maxTargetChars);
  const user = fields['uid'] === undefined ? '-' : shorten(abbreviate(text('uid')), maxUserChars);
  const notes = [
    ...(fields['batch_size'] === undefined ? [] : [`${text('batch_size')} requests`]),
    ...(fields['pid'] === undefined ? [] : [`process ${text('pid')}`]),
  ];
  const end = notes.length === 0 ? '' : ` (${notes.join(', ')})`;
  return `${text('method')} ${target} ${text('code')} ${text('t')}ms ${user}${end}\n`;
}

/** Shortens ids of Basic authentication, which would fill a line, to their first digits. */
function abbreviate(user: string): string {
  return user.replace(/([\da-f]{8})[\da-f]{56}$/, '$1…');
}

function shorten(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
}

/** Returns the fields with all of their texts neutralized. Stacks keep their lines, which are indented on the terminal. */
function neutralizeAll(fields: object): object {
  const neutral = Object.entries(fields).map(([name, value]: [string, unknown]) => [
    neutralize(name),
    name === 'stack' && typeof value === 'string'
      ? value.split('\n').map(neutralize).join('\n')
      : neutralizeValue(value),
  ]);
  return Object.fromEntries(neutral) as object;
}

function neutralizeValue(value: unknown): unknown {
  if (typeof value === 'string') return neutralize(value);
  if (Array.isArray(value)) return value.map(neutralizeValue);
  return typeof value === 'object' && value !== null ? neutralizeAll(value) : value;
}

/** Writes characters that control a terminal, or hide text on it, as code points: clients choose paths and names. */
function neutralize(text: string): string {
  return text.replaceAll(
    /[\p{C}\u2028\u2029]/gu,
    (character) => String.raw`\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}
