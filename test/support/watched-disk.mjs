// Loaded into a server before everything else: notes what the log of SQLite held when it was last flushed, which is
// what a loss of power leaves at least, and makes flushes fail while a file says so.
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import process from 'node:process';

const { DISK_FAULT: fault, DISK_FLUSHED: flushed, DISK_LOG_INDEX: index } = process.env;
const handle = await open(process.execPath, 'r');
const prototype = /** @type {import('node:fs/promises').FileHandle} */ (Object.getPrototypeOf(handle));
await handle.close();

const flush = Reflect.get(prototype, 'datasync');
prototype.datasync = async function datasync() {
  if (existsSync(fault))
    throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO', syscall: 'fdatasync' });
  // The index says how many frames are valid, and to which log they belong.
  const before = existsSync(index) ? await readFile(index) : Buffer.alloc(0);
  await Reflect.apply(flush, this, []);
  // The process may be stopped at any time, also while it writes this.
  writeFileSync(`${flushed}.new`, before.subarray(0, 48));
  renameSync(`${flushed}.new`, flushed);
};
