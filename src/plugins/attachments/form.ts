// Streaming parser of forms with one file. The file is spooled to a temporary file while its size and hash are
// computed. Other parts are small. An invalid form is refused at once, and the rest of it is drained, so that the
// client can read the response.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { isJsonObject, JsonSyntaxError, type JsonLimits, type JsonObject } from '../../base/json.ts';
import { parseRequestJson } from '../../base/request-json.ts';
import { spooledName } from '../../contracts/blob-names.ts';
import { BackendError } from '../../contracts/errors.ts';
import { invalidParameters, ServiceError } from '../../core/errors.ts';
import {
  mediaType,
  type MemoryAccount,
  type RequestBody,
  type RequestHeaders,
  type ServiceRequest,
} from '../../engine/exchange.ts';
import { WorkAwaited } from '../../engine/work-ahead.ts';
import { smallBytes } from '../../http/request-memory.ts';
import { cleanFilename } from './file-name.ts';
import { spool, type SpooledFile } from './spool.ts';

export interface Form {
  readonly file: SpooledFile & { readonly filename: string; readonly mimetype: string };
  readonly data: JsonObject | undefined;
  readonly permissions: JsonObject | undefined;
}

export interface FormLimits {
  /** Maximum size of the file; 0 means unlimited. */
  readonly fileBytes: number;
  /** Maximum size of each other part, and of everything between the parts. */
  readonly otherBytes: number;
  readonly json: JsonLimits;
}

interface FormBudget extends FormLimits {
  /** Account for memory of parts other than the file. */
  readonly memory: MemoryAccount | undefined;
  /** Maximum size of everything except the file. */
  readonly allOtherBytes: number;
}

/** Memory for small fields is taken in steps of this size. The first one also covers the parser and the open file. */
const stepBytes = 4096;
/** Size of the first reservation for large fields. */
const mediumBytes = 1_048_576;
/** Memory per byte of a field: its text, slices of it, and texts of the record. */
const bytesPerByte = 8;
/** Memory per JSON value of a field. Each value has at least two bytes with its separator. */
const bytesPerValue = 220;

/** Maximum number of parts read. A form has three; more are read to report what is wrong with them. */
const maxParts = 10;
const maxHeaderBytes = 16_384;
const maxHeaders = 20;
/** Tolerance for everything between the parts. */
const toleranceBytes = 1_048_576;
/**
 * Maximum number of bytes drained from a refused form. The client can read the response before the connection closes.
 */
const maxDrainedBytes = 64 * 1_048_576;

const forms = new WeakMap<RequestBody, Promise<Form>>();

/**
 * Reads the form in the body of a request once, even if called repeatedly. The temporary file exists until the response is
 * final.
 *
 * @throws ServiceError invalidParameters, invalidPostedData, requestTooLarge, badRequest, overloaded
 */
export function readForm(
  { body, headers, memory }: Pick<ServiceRequest, 'body' | 'headers' | 'memory'>,
  folder: () => Promise<string>,
  limits: FormLimits,
): Promise<Form> {
  let form = forms.get(body);
  if (form === undefined) {
    const most = 3 * limits.otherBytes + toleranceBytes;
    const announced = Number(headers['content-length'] ?? most);
    form = parseForm(body, headers, folder, { ...limits, memory, allOtherBytes: Math.min(announced, most) });
    forms.set(body, form);
  }
  return form;
}

async function parseForm(
  body: RequestBody,
  headers: RequestHeaders,
  folder: () => Promise<string>,
  limits: FormBudget,
): Promise<Form> {
  const { 'content-type': type = '' } = headers;
  const { stream } = body;
  if (stream === undefined || mediaType(type) !== 'multipart/form-data') throw notMultipart();
  const path = join(await folder(), spooledName());
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
      : new ServiceError('badRequest', { message: 'The form is incomplete.', cause: error });
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
    // The media type is correct, so the boundary is missing.
    throw notMultipart();
  }
}

/** Discards the rest of a form up to a limit, then closes the connection. */
async function drain(source: AsyncIterator<Uint8Array>): Promise<void> {
  try {
    for (let bytes = 0; bytes < maxDrainedBytes;) {
      const next = await source.next();
      if (next.done === true) return;
      bytes += next.value.length;
    }
    await source.return?.();
  } catch {
    // The client has disconnected.
  }
}

interface ArrivingFile {
  readonly stream: BusboyFileStream;
  readonly filename: string;
  readonly mimetype: string;
  readonly spooled: Promise<SpooledFile>;
}

/** Collects the parts of one form from the parser. */
class Parts {
  readonly #parser: BusboyInstance;
  readonly #path: string;
  readonly #limits: FormBudget;
  readonly #fields = new Map<string, JsonObject>();
  /** First error of the form. */
  #failure: unknown;
  #rejectWaiting: (error: unknown) => void = () => undefined;
  #file: ArrivingFile | undefined;
  #spooled: SpooledFile | undefined;
  /** Reserved bytes for parts other than the file. */
  #reservedBytes = 0;

  constructor(parser: BusboyInstance, path: string, limits: FormBudget) {
    this.#parser = parser;
    this.#path = path;
    this.#limits = limits;
    parser.on('error', (error) => this.#break(error));
    parser.on('partsLimit', () => this.#break(badPart('', `expected at most ${maxParts} parts`)));
    parser.on('file', (name, stream, filename, _encoding, mimetype) => {
      // The stream can fail before it is read.
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
    await this.#reserve(1);
    for (;;) {
      const next = await this.#unlessBroken(source.next());
      if (next.done === true) break;
      received += next.value.length;
      await this.#unlessBroken(this.#write(next.value));
      // Before, it is not known which part of the piece belongs to the file.
      const otherBytes = received - (this.#file?.stream.bytesRead ?? 0);
      if (otherBytes > this.#limits.allOtherBytes) throw new ServiceError('requestTooLarge');
      if (otherBytes > this.#reservedBytes) await this.#reserve(otherBytes);
    }
    this.#parser.end();
    await this.#unlessBroken(finished);
    this.#limits.memory?.keep();
    if (this.#file !== undefined) this.#spooled = await this.#unlessBroken(this.#file.spooled);
  }

  /**
   * Reserves memory for fields. Small ones never wait. For large ones it reserves for all that may still arrive, because forms
   * that wait for memory while holding some could deadlock. The largest form may use the whole budget.
   */
  async #reserve(bytes: number): Promise<void> {
    const { memory, json, allOtherBytes } = this.#limits;
    if (bytes <= smallBytes) {
      this.#reservedBytes = Math.ceil(bytes / stepBytes) * stepBytes;
      memory?.holdSmall(this.#reservedBytes);
      return;
    }
    this.#reservedBytes = bytes <= mediumBytes ? mediumBytes : allOtherBytes;
    const values = Math.min(this.#reservedBytes / 2, json.maxValues);
    try {
      memory?.admit(this.#reservedBytes * bytesPerByte + values * bytesPerValue);
    } catch (error) {
      if (!(error instanceof WorkAwaited)) throw error;
      // The form cannot be read again, so it waits here.
      await error.work();
    }
    memory?.endSmall();
  }

  /** Resolves when the temporary file is no longer written. */
  async settled(): Promise<void> {
    this.#parser.on('error', () => undefined);
    this.#parser.destroy();
    if (this.#file === undefined) return;
    // No more data will arrive, so the reader must not wait.
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

  /** Waits for the promise, and rejects as soon as the form has an error. */
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
        name === 'data' || name === 'permissions' ? 'expected JSON, not a file' : 'unknown part',
      );
    }
    if (this.#file !== undefined) throw badPart(name, 'expected one file');
    const filename = cleanFilename(given ?? '');
    if (filename === '') throw missingFilename();
    // Destroying the stream when the reader stops would report an error of the stream and hide the real one.
    const source: AsyncIterable<Uint8Array> = stream.iterator({ destroyOnReturn: false });
    const spooled = spool(source, this.#path, this.#limits.fileBytes);
    spooled.catch((error: unknown) => this.#break(error));
    this.#file = { stream, filename, mimetype, spooled };
  }

  #addField(name: string | undefined, value: string, isTruncated: boolean): void {
    if (name === 'attachment') throw missingFilename();
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

export function notMultipart(): ServiceError {
  const description = 'Content-Type must be multipart/form-data with a boundary';
  return invalidParameters([{ location: 'header', name: 'Content-Type', description }]);
}

function missingFilename(): ServiceError {
  return invalidParameters([{ location: 'body', name: 'attachment', description: 'the file must have a name' }]);
}

function badPart(name: string, description: string): ServiceError {
  const shownName = name.slice(0, 100);
  const message = shownName === '' ? `body: ${description}` : `${shownName} in body: ${description}`;
  return new ServiceError('invalidPostedData', {
    message,
    details: [{ location: 'body', name: shownName, description }],
  });
}
