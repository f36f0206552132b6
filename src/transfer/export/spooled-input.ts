// An export from a stream, such as standard input. It is read several times, and checked as a whole before any of it is
// imported, so it is stored in a temporary file.
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ExportRefused } from './export-file.ts';
import { withRemoval } from './temporary-files.ts';

/** Mode of the file, which contains hashes of passwords. */
const ownerOnly = 0o600;
const gzipMagic = [0x1f, 0x8b];

/**
 * Keeps the stream in a file while the work runs. Compressed exports are recognised by their first bytes.
 *
 * @param name name of the stream in messages
 * @throws ExportRefused when the file cannot be written, or by the work
 */
export async function withSpooled<T>(input: Readable, name: string, work: (path: string) => Promise<T>): Promise<T> {
  // `mkdtemp` creates a folder that only its owner can read.
  const folder = mkdtempSync(join(tmpdir(), 'coffer-import-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  return withRemoval(remove, async () => {
    let path = join(folder, 'export.ndjson');
    try {
      path = await spool(input, path, name);
      return await work(path);
    } catch (error) {
      if (!(error instanceof ExportRefused)) throw error;
      throw new ExportRefused(error.message.replaceAll(path, name), { cause: error });
    }
  });
}

/** Returns the path of the file, whose name ends in .gz when it is compressed. */
async function spool(input: Readable, path: string, name: string): Promise<string> {
  let head: Buffer = Buffer.alloc(0);
  try {
    await pipeline(
      input,
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          if (head.length < gzipMagic.length) head = Buffer.concat([head, chunk.subarray(0, gzipMagic.length)]);
          yield chunk;
        }
      },
      createWriteStream(path, { mode: ownerOnly }),
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ExportRefused(`${name} cannot be stored in ${tmpdir()} (set TMPDIR to use another folder): ${reason}`, {
      cause: error,
    });
  }
  if (!gzipMagic.every((byte, index) => head[index] === byte)) return path;
  await rename(path, `${path}.gz`);
  return `${path}.gz`;
}
