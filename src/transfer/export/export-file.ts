// The file of an export, compressed when its name ends in .gz. It is written as a whole or not at all, and checked as a whole
// before any of it is used.
import { constants, isUtf8 } from 'node:buffer';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, lstatSync, rmSync } from 'node:fs';
import { link, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { codeOf } from '../../base/system-errors.ts';
import type { ListKey } from '../../core/objects/stored.ts';
import { BrokenLine } from './broken-line.ts';
import { readEntryData } from './entry-data.ts';
import { LineOrder } from './line-order.ts';
import { parseLine, type ExportHeader, type ExportLine, type ExportSummary, type ListEnd } from './lines.ts';
import { withRemoval } from './temporary-files.ts';
import type { ExportSink } from './write-export.ts';

/** An export that cannot be written or read, with a message for the operator. */
export class ExportRefused extends Error {}

const chunkBytes = 1024 * 1024;
/** Maximum length of a line, which becomes one string. A compressed file can be small and contain a longer one. */
const longestLineBytes = constants.MAX_STRING_LENGTH;
const lineBreak = 10;
/** Mode of the file, which contains hashes of passwords. */
const ownerOnly = 0o600;

/**
 * Writes a file. It gets its name when it is complete and on the disk; nothing is left of it after a failure or a signal.
 *
 * @throws ExportRefused when the file exists, or cannot be written completely
 */
export async function writeFile<T>(path: string, write: (sink: ExportSink) => Promise<T>): Promise<T> {
  // A symbolic link takes the name too, even if it leads nowhere.
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) throw new ExportRefused(`${path} exists already`);
  // No other process writes to a file with this name. A path that ends in a slash fails now, not at the end.
  const part = join(path.endsWith('/') ? path : dirname(path), `.coffer-${randomBytes(8).toString('hex')}.part`);
  const remove = (): void => rmSync(part, { force: true });
  const result = await withRemoval(remove, async () => {
    const written = await writePart(part, path, write);
    await giveName(part, path);
    return written;
  });
  await flushFolder(dirname(path));
  return result;
}

async function writePart<T>(part: string, path: string, write: (sink: ExportSink) => Promise<T>): Promise<T> {
  const opened = await open(part, 'wx', ownerOnly).catch((error: unknown) => {
    const reason = codeOf(error) === 'ENOENT' ? 'its folder does not exist' : codeOf(error);
    throw new ExportRefused(`${path} cannot be written: ${reason}`, { cause: error });
  });
  const file = opened.createWriteStream({ flush: true });
  const gzip = path.endsWith('.gz') ? createGzip({ level: 1 }) : undefined;
  gzip?.pipe(file);
  const target = gzip ?? file;
  const ended = Promise.all(gzip === undefined ? [finished(file)] : [finished(gzip), finished(file)]);
  // The next await throws the error.
  ended.catch(() => undefined);
  let failure: Error | undefined;
  file.once('error', (error) => (failure = error));
  try {
    const result = await write(sinkInto(target, ended));
    target.end();
    await ended;
    return result;
  } catch (error) {
    target.destroy();
    file.destroy();
    if (failure === undefined) throw error;
    throw new ExportRefused(`${path} could not be written and was removed: ${failure.message}`, {
      cause: failure,
    });
  }
}

/** Gives a complete file its name, unless it is taken. */
async function giveName(part: string, path: string): Promise<void> {
  try {
    await link(part, path).catch(async (error: unknown) => {
      if (codeOf(error) === 'EEXIST') throw error;
      // On a file system without hard links, an empty file takes the name and is replaced.
      await (await open(path, 'wx', ownerOnly)).close();
      await rename(part, path);
    });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    throw new ExportRefused(`${path} exists already`, { cause: error });
  }
}

/**
 * Writes into a stream, such as standard output, which stays open.
 *
 * @throws ExportRefused when the stream fails
 */
export async function writeStream<T>(stream: Writable, write: (sink: ExportSink) => Promise<T>): Promise<T> {
  let failure: Error | undefined;
  // The listener stays: an error without one would end the process.
  stream.on('error', (error) => (failure ??= error));
  const sink = sinkInto(stream);
  try {
    const result = await write({
      write: (bytes) => (failure === undefined ? sink.write(bytes) : Promise.reject(failure)),
    });
    await new Promise<void>((resolve, reject) => {
      stream.write('', (error) => (error ? reject(error) : resolve()));
    });
    return result;
  } catch (error) {
    if (failure === undefined) throw error;
    throw new ExportRefused(`the export cannot be written: ${failure.message}`, { cause: failure });
  }
}

/** @param ended rejects when bytes are lost behind the target */
function sinkInto(target: Writable, ended?: Promise<unknown>): ExportSink {
  return {
    write: async (bytes) => {
      if (target.write(bytes)) return;
      const drained = once(target, 'drain');
      await (ended === undefined ? drained : Promise.race([drained, ended]));
    },
  };
}

async function flushFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function* readBytes(path: string): AsyncGenerator<Buffer> {
  const file = createReadStream(path, { highWaterMark: chunkBytes });
  if (!path.endsWith('.gz')) {
    yield* file as AsyncIterable<Buffer>;
    return;
  }
  const gunzip = createGunzip({ chunkSize: chunkBytes });
  file.once('error', (error) => gunzip.destroy(error));
  yield* file.pipe(gunzip) as AsyncIterable<Buffer>;
}

export interface CheckedExport {
  readonly header: ExportHeader;
  readonly summary: ExportSummary;
  /** Checksum of everything before the summary. */
  readonly sha256: string;
}

/** Yields chunks that contain line breaks, joined with the chunks before that contain none: searching bytes again would take quadratic time. */
async function* wholeLines(
  chunks: AsyncIterable<Buffer>,
  { path, maxLineBytes }: { readonly path: string; readonly maxLineBytes: number },
): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    waiting.push(chunk);
    length += chunk.length;
    if (length > maxLineBytes + chunkBytes) throw new ExportRefused(`${path} is not an export: a line is too long`);
    if (!chunk.includes(lineBreak)) continue;
    yield waiting.length === 1 ? chunk : Buffer.concat(waiting);
    waiting = [];
    length = 0;
  }
  if (length > 0) yield Buffer.concat(waiting);
}

/**
 * Reads a whole file, and compares it with the checksum at its end.
 *
 * @throws ExportRefused when it is not an export, is incomplete, or does not match its checksum
 */
export async function checkExport(path: string, maxLineBytes = longestLineBytes): Promise<CheckedExport> {
  const hash = createHash('sha256');
  let first: Buffer | undefined;
  // Bytes from the start of the last line so far, which its own checksum does not cover.
  let tail: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of wholeLines(readBytes(path), { path, maxLineBytes })) {
      const bytes: Buffer = tail.length === 0 ? chunk : Buffer.concat([tail, chunk]);
      first ??= firstLine(bytes);
      const start = startOfLastLine(bytes);
      hash.update(bytes.subarray(0, start));
      tail = bytes.subarray(start);
    }
  } catch (error) {
    if (error instanceof ExportRefused) throw error;
    throw new ExportRefused(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  const header = first === undefined ? undefined : tryLine(first);
  if (header?.is !== 'header') throw new ExportRefused(`${path} is not an export that this version can read`);
  const last = tail.at(-1) === lineBreak ? tryLine(tail.subarray(0, -1)) : undefined;
  if (last?.is !== 'summary') throw new ExportRefused(`${path} is incomplete: its last line is missing`);
  if (hash.digest('hex') !== last.sha256) {
    throw new ExportRefused(`${path} was changed: its checksum does not match`);
  }
  return { header: header.header, summary: last.summary, sha256: last.sha256 };
}

function firstLine(bytes: Buffer): Buffer | undefined {
  const end = bytes.indexOf(lineBreak);
  return end === -1 ? undefined : bytes.subarray(0, end);
}

/** Returns the start of the last complete line, or 0. */
function startOfLastLine(bytes: Buffer): number {
  const end = bytes.lastIndexOf(lineBreak);
  return end <= 0 ? 0 : bytes.lastIndexOf(lineBreak, end - 1) + 1;
}

function tryLine(bytes: Buffer): ExportLine | undefined {
  try {
    return parseLine(bytes.toString());
  } catch (error) {
    if (error instanceof BrokenLine) return undefined;
    throw error;
  }
}

/** Returns the text to store for the data of an entry. */
type ReadData = (text: string) => string;

/**
 * Checks every line of a file. Returns the function that reads the data of entries in the next pass, which repeats the check only
 * if some data must be brought into the stored form.
 *
 * @throws ExportRefused naming the first line that cannot be imported
 */
export async function checkLines(path: string): Promise<ReadData> {
  let changed = 0;
  const readData = (text: string): string => {
    const stored = readEntryData(text);
    if (stored !== text) changed++;
    return stored;
  };
  const lines = readLines(path, readData);
  while ((await lines.next()).done !== true);
  return changed === 0 ? (text) => text : readEntryData;
}

/**
 * Yields the lines of a file, many at a time.
 *
 * @throws ExportRefused naming the line that cannot be read, or is in the wrong place
 */
export async function* readLines(path: string, readData: ReadData): AsyncGenerator<readonly ExportLine[]> {
  let number = 0;
  const order = new LineOrder();
  const read = (text: string): ExportLine => {
    number++;
    const line = requireLine(path, text, number, readData);
    const fault = order.findFault(line);
    if (fault !== undefined) throw new ExportRefused(`${path}, line ${number}: ${fault}`);
    return line;
  };
  for await (const block of readBlocks(path)) {
    const end = endOfText(block);
    if (end > 0)
      yield block
        .toString('utf8', 0, end - 1)
        .split('\n')
        .map(read);
    if (end < block.length) throw new ExportRefused(`${path}, line ${number + 1}: not UTF-8`);
  }
}

/** Returns the end of the lines before the first one that is not UTF-8. */
function endOfText(block: Buffer): number {
  if (isUtf8(block)) return block.length;
  for (let start = 0; ;) {
    const end = block.indexOf(lineBreak, start) + 1;
    if (!isUtf8(block.subarray(start, end))) return start;
    start = end;
  }
}

/** A list with the line after its entries. */
export interface ExportedList extends ListKey {
  readonly end: ListEnd;
}

/** Third bytes of the lines `{"list":…` and `{"end":…`. */
const [listMark, endMark] = Buffer.from('le');

/** Yields the lists of a file without their entries, in the order of the file. The lines of entries are not even decoded. */
export async function* readListEnds(path: string): AsyncGenerator<ExportedList> {
  let key: ListKey | undefined;
  let number = 0;
  for await (const block of readBlocks(path)) {
    for (let start = 0; start < block.length;) {
      const end = block.indexOf(lineBreak, start);
      number++;
      const mark = block[start + 2];
      if (mark === listMark || mark === endMark) {
        const line = requireLine(path, block.toString('utf8', start, end), number);
        if (line.is === 'list') key = { kind: line.list.kind, parent: line.list.parent };
        else if (line.is === 'end' && key !== undefined) yield { ...key, end: line.end };
      }
      start = end + 1;
    }
  }
}

/** Yields the bytes of one or more whole lines with their line breaks. */
async function* readBlocks(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of wholeLines(readBytes(path), { path, maxLineBytes: longestLineBytes })) {
    const bytes: Buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = bytes.lastIndexOf(lineBreak) + 1;
    rest = bytes.subarray(end);
    if (end > 0) yield bytes.subarray(0, end);
  }
}

function requireLine(path: string, text: string, number: number, readData?: ReadData): ExportLine {
  try {
    return parseLine(text, readData);
  } catch (error) {
    if (!(error instanceof BrokenLine)) throw error;
    throw new ExportRefused(`${path}, line ${number}: ${error.message}`, { cause: error });
  }
}
