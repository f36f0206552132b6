// Mail into folders: a maildir from which another program sends it, or one file per message for development.
import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { formatLetter, type Transport } from './smtp.ts';

/**
 * Returns a transport into a maildir. Messages appear there complete; two headers hold the envelope for the sending
 * program.
 */
export function maildirTransport(folder: string): Transport {
  return {
    async deliver(letter) {
      const envelope = { 'X-Actually-From': letter.sender, 'X-Actually-To': letter.to.join(', ') };
      const text = await formatLetter(letter, envelope);
      for (const part of ['tmp', 'new', 'cur']) await mkdir(path.join(folder, part), { recursive: true });
      const name = `${Math.floor(Date.now() / 1000)}.${randomUUID()}.${hostname().replaceAll(/[/:]/g, '_')}`;
      const draft = path.join(folder, 'tmp', name);
      await writeFile(draft, text, { flag: 'wx', mode: 0o600 });
      await rename(draft, path.join(folder, 'new', name));
    },
    close() {
      // Nothing is open between messages.
    },
  };
}

/** Returns a transport that writes each message to a file. The names sort by time. */
export function fileTransport(folder: string): Transport {
  let count = 0;
  return {
    async deliver(letter) {
      const text = await formatLetter(letter);
      await mkdir(folder, { recursive: true });
      const name = `${Date.now()}-${String(++count).padStart(4, '0')}-${randomUUID().slice(0, 8)}.eml`;
      await writeFile(path.join(folder, name), text, { flag: 'wx', mode: 0o600 });
    },
    close() {
      // Nothing is open between messages.
    },
  };
}
