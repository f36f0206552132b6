// A failure of Redis in each command in turn: affected requests are refused with 503, and everything works again when the
// failure is over.
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { testBackends } from '../../../src/testing/index.ts';
import { doWork, soundWork, workSettings } from '../../support/scripted-work.ts';

/** Error responses of the server, or the end of the connection. */
const failures = [
  'OOM command not allowed when used memory',
  'READONLY You cannot write against a read only replica.',
  'LOADING Redis is loading the dataset in memory',
  'BUSY Redis is busy running a script.',
  'MISCONF Redis is configured to save RDB snapshots',
  'connection lost',
];

/** Step between the failing commands; with `all` each one fails in turn. */
const stride = process.env['COFFER_STATEMENT_FAULTS'] === 'all' ? 1 : 5;

class RedisFaults {
  #failure: string | undefined;
  #left = 0;

  /** Installs itself until the test ends. */
  static install(): RedisFaults {
    const faults = new RedisFaults();
    const { prototype } = Redis;
    const { sendCommand } = prototype;
    prototype.sendCommand = function (this: Redis, command, stream) {
      const failure = faults.#take();
      if (failure === undefined) return sendCommand.call(this, command, stream);
      if (failure === 'connection lost') this.disconnect(true);
      command.reject(new Error(failure === 'connection lost' ? 'Connection is closed.' : failure));
      return command.promise;
    };
    onTestFinished(() => {
      prototype.sendCommand = sendCommand;
    });
    return faults;
  }

  arm(n: number, failure: string): void {
    this.#failure = failure;
    this.#left = n;
  }

  /** Lets commands succeed again; returns whether one has failed. */
  disarm(): boolean {
    const hasStruck = this.#failure === undefined;
    this.#failure = undefined;
    return hasStruck;
  }

  #take(): string | undefined {
    if (this.#failure === undefined || --this.#left > 0) return undefined;
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }
}

test('A failure of Redis in any command is at most a 503, and passes.', { timeout: 600_000 }, async () => {
  const redis = testBackends.find(({ name }) => name === 'redis')!;
  const service = await redis.start({ settings: workSettings });
  onTestFinished(() => service.close());
  const faults = RedisFaults.install();
  const client = service.asUser('alice');
  let [runs, refused] = [0, 0];
  for (let n = 1, hasStruck = true; hasStruck; n += stride) {
    faults.arm(n, failures[n % failures.length]!);
    const statuses = await doWork(client, `faulty-${++runs}`);
    hasStruck = faults.disarm();
    if (statuses.includes(503)) refused++;
    if (runs % 5 === 0 || !hasStruck) {
      expect([n, ...(await doWork(client, `sound-${runs}`))]).toEqual([n, ...soundWork()]);
    }
  }
  expect(refused).toBeGreaterThan(5);
  console.log(`${runs} runs, ${refused} of them saw 503`);
});
