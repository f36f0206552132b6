// Files of records: plugins.md §6. A record has one at most; who may read the record may read it.
import { createHash } from 'node:crypto';
import { holdsBadNumber } from './envelope.ts';
import { Refusal, requireNone, type Ask, type Expected, type FormPart } from './exchange.ts';
import { isMap, member, withMember, type Json, type JsonMap } from './json.ts';
import { formatJson } from './numbers.ts';
import { answerObject } from './object-verbs.ts';
import { isGoodId, placeOf, uriOf, type Place } from './places.ts';
import { mayCreate, mayRead, mayWrite } from './rights.ts';
import { refused, requireParent, type Turn } from './turn.ts';

/** As in the settings of the service. */
export const maxFileBytes = 24;
export const extensions: readonly string[] = ['txt', 'json'];

interface Form {
  readonly filename: string;
  readonly type: string;
  readonly content: string;
  readonly data: JsonMap;
  readonly permissions: Json | undefined;
}

/** The record whose file a path is about; `undefined` for other paths. */
export function recordOfAttachment(path: string): Place | undefined {
  return path.endsWith('/attachment') ? placeOf(path.slice(0, -'/attachment'.length)) : undefined;
}

/** A part as it is sent. */
export function contentOf({ value, text }: FormPart): string {
  return text ?? formatJson(value);
}

/** Reports faults of a received form, before a personal bucket or collection is created for it. */
export function checkForm(ask: Ask): void {
  if (ask.form !== undefined) readForm(ask.form);
}

function badPart(name: string): Refusal {
  return new Refusal(400, 109, [{ location: 'body', name }]);
}

function badFile(): Refusal {
  return new Refusal(400, 107, [{ location: 'body', name: 'attachment' }]);
}

function readForm(parts: readonly FormPart[]): Form {
  const fields = new Map<string, JsonMap>();
  let file: FormPart | undefined;
  for (const part of parts) {
    const { name, filename, value } = part;
    const isFile = name === 'attachment';
    if (!isFile && (filename !== undefined || (name !== 'data' && name !== 'permissions'))) throw badPart(name);
    if (isFile && (filename === undefined || filename === '')) throw badFile();
    if (isFile ? file !== undefined : fields.has(name) || !isMap(value) || holdsBadNumber(value)) throw badPart(name);
    if (isFile) file = part;
    else fields.set(name, value as JsonMap);
  }
  if (file === undefined) throw badPart('attachment');
  const content = contentOf(file);
  if (content.length > maxFileBytes) throw badFile();
  const { filename = '', type = '' } = file;
  const extension = extensionOf(filename);
  if (extension !== undefined && !extensions.includes(extension)) throw badFile();
  return { filename, type, content, data: fields.get('data') ?? {}, permissions: fields.get('permissions') };
}

function extensionOf(filename: string): string | undefined {
  return /\.([^.]+)$/.exec(filename)?.[1];
}

/** @throws Refusal, Collision */
export function answerAttachment(turn: Turn, place: Place): Expected {
  return turn.ask.method === 'POST' ? upload(turn, place) : takeAway(turn, place);
}

function upload(turn: Turn, place: Place): Expected {
  const { store, person, ask } = turn;
  const uri = uriOf(place);
  const exists = store.find(uri) !== undefined;
  if (!(exists ? mayWrite(store, person, place) : mayCreate(store, person, place))) throw refused(person);
  requireParent(turn, place);
  if (ask.form === undefined) requireNone([['header', 'Content-Type']]);
  const form = readForm(ask.form!);
  const { filename, type: mimetype, content } = form;
  const location = givenLocation(turn, uri, extensionOf(filename));
  const hash = createHash('sha256').update(content).digest('hex');
  const attachment = { filename, location, hash, mimetype, size: content.length };
  const data = withMember(form.data, 'attachment', attachment);
  const body = form.permissions === undefined ? { data } : { data, permissions: form.permissions };
  const headers = exists ? ask.headers : { ...ask.headers, 'if-none-match': '*' };
  const answer = answerObject(asked(turn, { method: exists ? 'PATCH' : 'PUT', headers, body }), place);
  store.files.set(uri, { location, content });
  store.locations.add(location);
  return { status: answer.status, headers: { ...answer.headers, location: `/v1${uri}` }, body: attachment };
}

function takeAway(turn: Turn, place: Place): Expected {
  const body = { data: { attachment: null } };
  const { headers } = answerObject(asked(turn, { method: 'PATCH', headers: turn.ask.headers, body }), place);
  return { status: 204, headers, body: undefined };
}

/** Returns the turn with another request of the same client, under the same conditions, that changes the record. */
function asked(turn: Turn, { method, headers, body }: Pick<Ask, 'method' | 'headers' | 'body'>): Turn {
  const { 'response-behavior': _behaviour, 'content-type': _type, ...kept } = headers;
  return {
    ...turn,
    ask: { ...turn.ask, method, headers: kept, body },
    record: (change) => turn.record({ ...change, isUpload: true }),
  };
}

/** The name is drawn by the service; no name is given twice. */
function givenLocation({ store, hint }: Turn, uri: string, extension: string | undefined): string {
  const [, bucket, , collection, , record] = uri.slice(1).split('/');
  const begin = `/v1/attachments/${bucket}/${collection}/${record}/`;
  const location = isMap(hint.body) ? member(hint.body, 'location') : undefined;
  if (typeof location !== 'string' || !location.startsWith(begin) || store.locations.has(location))
    return 'no good name';
  const end = `.${extension ?? 'bin'}`;
  const isRandom = new RegExp(`^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}${end}$`).test(location.slice(begin.length));
  return isRandom ? location : 'no good name';
}

/** `GET /attachments/{bucket}/{collection}/{record}/{name}` @throws Refusal */
export function answerFile({ store, files, person, ask }: Turn, path: string): Expected {
  // Controls are part of no address of a file.
  if (/\p{Cc}/u.test(path)) requireNone([['path', '*']]);
  const [bucket, collection, record] = path.split('/').slice(2);
  if (![bucket, collection, record].every((id) => id !== undefined && isGoodId(id))) throw new Refusal(404, 111);
  const place = placeOf(`/buckets/${bucket}/collections/${collection}/records/${record}`)!;
  if (!mayRead(store, person, place)) throw refused(person);
  const file = files.get(uriOf(place));
  if (file?.location !== `/v1${path}`) throw new Refusal(404, 111);
  const headers = { etag: '*', 'last-modified': '*', 'cache-control': 'private, no-cache' };
  if (ask.headers['if-none-match'] === '*') return { status: 304, headers, body: undefined };
  return { status: 200, headers, body: JSON.parse(file.content) as Json };
}
