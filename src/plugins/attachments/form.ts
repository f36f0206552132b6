// Forms with one file, read as they arrive: the file goes to a temporary place while its size and hash are counted,
// everything else is small. A form that is not as it should be is given up at once, and what still comes of it is
// thrown away, so that the client can read the answer.
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { isJsonObject, JsonSyntaxError, type JsonLimits, type JsonObject } from '../../base/json.ts';
import { parseRequestJson } from '../../base/request-json.ts';
import { BackendError } from '../../contracts/errors.ts';
import { invalidParameters, ServiceError } from '../../core/errors.ts';
import {
  mediaType,
  type MemoryAccount,
  type RequestBody,
  type RequestHeaders,
  type ServiceRequest,
} from '../../engine/exchange.ts';
import { cleanFilename } from './file-name.ts';
import { spool, type SpooledFile } from './spool.ts';

export interface Form {
  readonly file: SpooledFile & { readonly filename: string; readonly mimetype: string };
  readonly data: JsonObject | undefined;
  readonly permissions: JsonObject | undefined;
}

export interface FormLimits {
  /** Of the file; 0: none. */
  readonly fileBytes: number;
  /** Of each other part, and of everything between the parts. */
  readonly otherBytes: number;
  readonly json: JsonLimits;
}

interface FormRoom extends FormLimits {
  /** Where what the form holds besides its file is reserved. */
  readonly memory: MemoryAccount | undefined;
}

/** Fields up to this size need no reservation. */
const smallBytes = 65_536;
/** The first reservation is for so many bytes. */
const mediumBytes = 1_048_576;
/** What a byte of a field takes: its text, pieces of it, and texts of the record. */
const bytesPerByte = 8;
/** What a JSON value of a field takes; each has two bytes at least, with what separates it from the next. */
const bytesPerValue = 220;

/** A form has three parts; a few more are read to tell what is wrong with them. */
const maxParts = 10;
const maxHeaderBytes = 16_384;
const maxHeaders = 20;
/** What may lie between two places where bytes are counted. */
const slackBytes = 1_048_576;
/** What is thrown away of a form that was given up, so that the answer is read before the connection breaks. */
const maxDrainedBytes = 64 * 1_048_576;

const read = new WeakMap<RequestBody, Promise<Form>>();

/**
 * The form in the body of a request, which is read once, however often this is called. Its file is there until the request
 * is answered for good.
 *
 * @throws ServiceError invalidParameters, invalidPostedData, requestTooLarge, badRequest, overloaded
 */
export function readForm(
  { body, headers, memory }: Pick<ServiceRequest, 'body' | 'headers' | 'memory'>,
  folder: () => Promise<string>,
  limits: FormLimits,
): Promise<Form> {
  let form = read.get(body);
  if (form === undefined) {
    form = parseForm(body, headers, folder, { ...limits, memory });
    read.set(body, form);
  }
  return form;
}

async function parseForm(
  body: RequestBody,
  headers: RequestHeaders,
  folder: () => Promise<string>,
  limits: FormRoom,
): Promise<Form> {
  const { 'content-type': type = '' } = headers;
  const { stream } = body;
  if (stream === undefined || mediaType(type) !== 'multipart/form-data') throw notMultipart();
  const path = join(await folder(), `${randomUUID()}.part`);
  body.onRelease(() => rm(path, { force: true }));
  const source = stream[Symbol.asyncIterator]();
  const parts = new Parts(openParser(type, limits), path, limits);
  try {
    await parts.readAll(source);
    return parts.form();
  } catch (error) {
    void drain(source);
    await parts.settled();
    await rm(path, { force: true });
    throw error instanceof ServiceError || error instanceof BackendError
      ? error
      : new ServiceError('badRequest', { message: 'The form did not arrive as a whole.', cause: error });
  }
}

function openParser(type: string, { otherBytes }: FormLimits): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': type },
      preservePath: true,
      limits: {
        fieldSize: otherBytes,
        fields: maxParts,
        parts: maxParts,
        headerPairs: maxHeaders,
        headerSize: maxHeaderBytes,
      },
    });
  } catch {
    // The type is right, so what is missing is its boundary.
    throw notMultipart();
  }
}

/** Lets what is left of a form pass, within limits, after which the connection ends. */
async function drain(source: AsyncIterator<Uint8Array>): Promise<void> {
  try {
    for (let bytes = 0; bytes < maxDrainedBytes;) {
      const next = await source.next();
      if (next.done === true) return;
      bytes += next.value.length;
    }
    await source.return?.();
  } catch {
    // The client has gone.
  }
}

interface ArrivingFile {
  readonly stream: BusboyFileStream;
  readonly filename: string;
  readonly mimetype: string;
  readonly spooled: Promise<SpooledFile>;
}

/** The parts of one form as the parser comes upon them. */
class Parts {
  readonly #parser: BusboyInstance;
  readonly #path: string;
  readonly #limits: FormRoom;
  readonly #fields = new Map<string, JsonObject>();
  /** What is wrong with the form, as soon as something is. */
  #failure: unknown;
  #rejectWaiting: (error: unknown) => void = () => undefined;
  #file: ArrivingFile | undefined;
  #spooled: SpooledFile | undefined;
  #fileBytes = 0;
  /** Bytes besides the file for which there is room. */
  #roomBytes = smallBytes;

  constructor(parser: BusboyInstance, path: string, limits: FormRoom) {
    this.#parser = parser;
    this.#path = path;
    this.#limits = limits;
    parser.on('error', (error) => this.#break(error));
    parser.on('partsLimit', () => this.#break(badPart('', `expected at most ${maxParts} parts`)));
    parser.on('file', (name, stream, filename, _encoding, mimetype) => {
      // Errors of the stream may come before anybody reads it.
      stream.on('error', (error) => this.#break(error));
      this.#attempt(() => this.#addFile(name, stream, filename, mimetype));
    });
    parser.on('field', (name, value, _nameTruncated, isTruncated) => {
      this.#attempt(() => this.#addField(name, value, isTruncated));
    });
  }

  async readAll(source: AsyncIterator<Uint8Array>): Promise<void> {
    const finished = new Promise<void>((resolve) => {
      this.#parser.on('finish', resolve);
    });
    let received = 0;
    for (;;) {
      const next = await this.#unlessBroken(source.next());
      if (next.done === true) break;
      received += next.value.length;
      const besides = received - this.#fileBytes;
      if (besides > 3 * this.#limits.otherBytes + slackBytes) throw new ServiceError('requestTooLarge');
      if (besides > this.#roomBytes) await this.#reserve(besides);
      await this.#unlessBroken(this.#write(next.value));
    }
    this.#parser.end();
    await this.#unlessBroken(finished);
    if (this.#file !== undefined) this.#spooled = await this.#unlessBroken(this.#file.spooled);
  }

  /** Makes room for many more bytes: forms that wait for more while they hold something could block each other. */
  async #reserve(bytes: number): Promise<void> {
    const { memory, json } = this.#limits;
    this.#roomBytes = bytes <= mediumBytes ? mediumBytes : 8 * bytes;
    const values = Math.min(this.#roomBytes / 2, json.maxValues);
    await memory?.reserve(this.#roomBytes * bytesPerByte + values * bytesPerValue);
  }

  /** When nothing is written to the temporary place any more. */
  async settled(): Promise<void> {
    this.#parser.on('error', () => undefined);
    this.#parser.destroy();
    if (this.#file === undefined) return;
    // Nothing more comes, so whoever reads it need not wait.
    this.#file.stream.destroy();
    await this.#file.spooled.catch(() => undefined);
  }

  form(): Form {
    if (this.#file === undefined || this.#spooled === undefined) throw badPart('attachment', 'Required');
    const { filename, mimetype } = this.#file;
    return {
      file: { ...this.#spooled, filename, mimetype },
      data: this.#fields.get('data'),
      permissions: this.#fields.get('permissions'),
    };
  }

  #break(error: unknown): void {
    this.#failure ??= error;
    this.#rejectWaiting(this.#failure);
  }

  /** Waits, but not beyond the moment when something turns out to be wrong. */
  #unlessBroken<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#rejectWaiting = reject;
      promise.then(resolve, reject);
      if (this.#failure !== undefined) this.#break(this.#failure);
    });
  }

  #write(chunk: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#parser.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#break(error);
    }
  }

  #addFile(name: string | undefined, stream: BusboyFileStream, given: string | undefined, mimetype: string): void {
    if (name !== 'attachment') {
      throw badPart(
        name ?? '',
        name === 'data' || name === 'permissions' ? 'expected JSON and no file' : 'unknown part',
      );
    }
    if (this.#file !== undefined) throw badPart(name, 'expected one file');
    const filename = cleanFilename(given ?? '');
    if (filename === '') throw withoutName();
    const counted = { limitBytes: this.#limits.fileBytes, onBytes: (bytes: number) => void (this.#fileBytes += bytes) };
    // Left alone when the reader has had enough, which would be an error of the stream and hide the reason.
    const source: AsyncIterable<Uint8Array> = stream.iterator({ destroyOnReturn: false });
    const spooled = spool(source, this.#path, counted);
    spooled.catch((error: unknown) => this.#break(error));
    this.#file = { stream, filename, mimetype, spooled };
  }

  #addField(name: string | undefined, value: string, isTruncated: boolean): void {
    if (name === 'attachment') throw withoutName();
    if (name !== 'data' && name !== 'permissions') throw badPart(name ?? '', 'unknown part');
    if (isTruncated) throw new ServiceError('requestTooLarge');
    if (this.#fields.has(name)) throw badPart(name, 'expected once');
    this.#fields.set(name, parseField(name, value, this.#limits.json));
  }
}

function parseField(name: string, value: string, limits: JsonLimits): JsonObject {
  let parsed;
  try {
    parsed = parseRequestJson(value, limits);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw badPart(name, error.message);
  }
  if (!isJsonObject(parsed)) throw badPart(name, 'expected a JSON object');
  return parsed;
}

function notMultipart(): ServiceError {
  const description = 'Content-Type must be multipart/form-data with a boundary';
  return invalidParameters([{ location: 'header', name: 'Content-Type', description }]);
}

function withoutName(): ServiceError {
  return invalidParameters([{ location: 'body', name: 'attachment', description: 'the file needs a name' }]);
}

function badPart(name: string, description: string): ServiceError {
  const shownName = name.slice(0, 100);
  const message = shownName === '' ? `body: ${description}` : `${shownName} in body: ${description}`;
  return new ServiceError('invalidPostedData', {
    message,
    details: [{ location: 'body', name: shownName, description }],
  });
}
