// Mail transports that write files: a maildir that another program sends from, or single files for development.
import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { formatMessage, type Transport } from './smtp.ts';

/** Writes messages atomically into a maildir. Two headers contain the envelope for the sending program. */
export function maildirTransport(folder: string): Transport {
  return {
    async deliver(message) {
      const envelope = { 'X-Actually-From': message.sender, 'X-Actually-To': message.to.join(', ') };
      const text = await formatMessage(message, envelope);
      for (const part of ['tmp', 'new', 'cur']) await mkdir(path.join(folder, part), { recursive: true });
      const name = `${Math.floor(Date.now() / 1000)}.${randomUUID()}.${hostname().replaceAll(/[/:]/g, '_')}`;
      const draft = path.join(folder, 'tmp', name);
      await writeFile(draft, text, { flag: 'wx', mode: 0o600 });
      await rename(draft, path.join(folder, 'new', name));
    },
    close() {
      // No resources are open between messages.
    },
  };
}

/** Writes a file for each message, with names in chronological order. */
export function fileTransport(folder: string): Transport {
  let count = 0;
  return {
    async deliver(message) {
      const text = await formatMessage(message);
      await mkdir(folder, { recursive: true });
      const name = `${Date.now()}-${String(++count).padStart(4, '0')}-${randomUUID().slice(0, 8)}.eml`;
      await writeFile(path.join(folder, name), text, { flag: 'wx', mode: 0o600 });
    },
    close() {
      // No resources are open between messages.
    },
  };
}
