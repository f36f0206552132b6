// bcrypt hashes of imported accounts, such as `$2b$12$…`. The library computes in JavaScript, so each check has a thread of
// its own: on the event loop it would delay all requests.
import { Worker } from 'node:worker_threads';

/** Costs from 4 to 14. A check at 14 takes a second, and each further step doubles the time. */
const form = /^\$2[aby]\$(?:0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}$/;

/** bcrypt ignores all bytes after these. Each character has at least one, and the last may be half of a surrogate pair. */
const maxPasswordBytes = 72;

/** A text, because one path could not name both the compiled and the uncompiled source. */
const threadSource = `
const { createRequire } = require('node:module');
const { parentPort, workerData } = require('node:worker_threads');
const { compareSync } = createRequire(workerData.from)('bcryptjs');
parentPort.postMessage(compareSync(workerData.password, workerData.hash));`;

/** Returns whether the password has the hash, or `undefined` for texts of another form or a higher cost. */
export async function matchesBcrypt(password: string, hash: string): Promise<boolean | undefined> {
  if (!form.test(hash)) return undefined;
  const workerData = { from: import.meta.url, password: password.slice(0, maxPasswordBytes + 1), hash };
  const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 };
  const worker = new Worker(threadSource, { eval: true, workerData, resourceLimits });
  return new Promise((resolve, reject) => {
    worker.on('message', resolve).on('error', reject);
    // Has no effect after a message or an error.
    worker.on('exit', () => reject(new Error('the thread that checks a password ended without a result')));
  });
}
