// The pool of workers: starts them, replaces those that die, and restarts them one by one without downtime.
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { exitCodes } from '../exit-codes.ts';
import { readWorkerMessage, type PrimaryMessage } from './messages.ts';
import { closeConnectionsInTransit } from './transit.ts';
import { Watchdog } from './watchdog.ts';
import { lingerMs } from './worker.ts';

/** Lifetime from which on the end of a worker does not count as a failed start. */
const healthyAfterMs = 10_000;
const firstPauseMs = 100;
const longestPauseMs = 30_000;
/** Time for a worker to exit after its shutdown timeout. */
const exitGraceMs = 5000;

interface Log {
  readonly info: (fields: object, message: string) => void;
  readonly error: (fields: object, message: string) => void;
}

export interface PoolOptions {
  readonly size: number;
  readonly shutdownTimeoutSeconds: number;
  /** Time after which a silent worker is killed; 0 means never. */
  readonly responseTimeoutSeconds: number;
  readonly logger: Log;
}

interface Member {
  readonly worker: Worker;
  readonly pid: number | undefined;
  readonly startedAt: number;
  state: 'starting' | 'serving' | 'leaving';
  /** Resolves to whether the worker listens; `false` when it exited before. */
  readonly ready: Promise<boolean>;
  readonly exited: Promise<unknown>;
}

export class WorkerPool {
  /** Resolves to the exit code of the service after the last worker has exited. */
  readonly ended: Promise<number>;
  readonly #logger: Log;
  readonly #shutdownTimeoutMs: number;
  readonly #members = new Set<Member>();
  readonly #watchdog: Watchdog<Member> | undefined;
  #checks: NodeJS.Timeout | undefined;
  #size: number;
  #end: (code: number) => void = () => undefined;
  #code: number = exitCodes.done;
  #hasServed = false;
  #isStopping = false;
  /** Number of consecutive workers that died soon after their start. */
  #earlyDeaths = 0;
  #pause: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();
  #isRestartWanted = false;

  constructor({ size, shutdownTimeoutSeconds, responseTimeoutSeconds, logger }: PoolOptions) {
    this.#size = size;
    this.#shutdownTimeoutMs = shutdownTimeoutSeconds * 1000;
    this.#logger = logger;
    if (responseTimeoutSeconds > 0) {
      this.#watchdog = new Watchdog(responseTimeoutSeconds * 1000, {
        ping: ({ worker }) => send(worker, { kind: 'ping' }),
        giveUp: ({ worker, pid }) => {
          logger.error({ pid, seconds: responseTimeoutSeconds }, 'A worker does not respond and is killed');
          worker.process.kill('SIGKILL');
        },
      });
    }
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    // Accepting in the primary process distributes connections evenly, and loses none when a worker stops listening.
    cluster.schedulingPolicy = cluster.SCHED_RR;
  }

  /** Starts one worker, and the others after it listens. */
  start(): void {
    this.#startWatchdog();
    this.#turn = this.#start();
  }

  /**
   * Restarts all workers one by one: each old one retires when a new one listens.
   *
   * @param readSize returns the new number of workers, or `undefined` to cancel the restart; called at its start
   */
  restart(readSize: () => number | undefined): void {
    if (this.#isRestartWanted) return;
    this.#isRestartWanted = true;
    this.#turn = this.#turn.then(async () => {
      this.#isRestartWanted = false;
      const size = this.#isStopping ? undefined : readSize();
      if (size === undefined) return;
      this.#size = size;
      await this.#exchangeAll();
    });
  }

  /** Stops all workers after their requests in flight. */
  stop(): void {
    this.#isStopping = true;
    clearTimeout(this.#pause);
    clearInterval(this.#checks);
    for (const member of this.#members) {
      // A starting worker has no requests and may exit at once.
      member.worker.process.kill('SIGTERM');
      this.#killLater(member);
    }
    if (this.#members.size === 0) this.#end(this.#code);
  }

  /** Kills all workers. */
  stopNow(): void {
    this.#isStopping = true;
    this.#code = exitCodes.failed;
    for (const { worker } of this.#members) worker.process.kill('SIGKILL');
  }

  #startWatchdog(): void {
    const watchdog = this.#watchdog;
    if (watchdog === undefined) return;
    // A worker that starts cannot reply yet, and one that leaves has a time limit.
    const check = (): void => watchdog.check([...this.#members].filter(({ state }) => state === 'serving'));
    this.#checks = setInterval(check, watchdog.periodMs);
  }

  async #start(): Promise<void> {
    const [first] = this.#launch(1);
    if (!(await first?.ready)) return;
    const others = this.#launch(this.#size - 1);
    const outcomes = await Promise.all(others.map(({ ready }) => ready));
    if (outcomes.every(Boolean)) this.#logger.info({ workers: this.#size }, 'All workers listen');
  }

  async #exchangeAll(): Promise<void> {
    this.#logger.info({ workers: this.#size }, 'Restarting workers');
    const before = Array.from(this.#members);
    for (const old of before) {
      if (this.#isStopping) return;
      if (!this.#members.has(old)) continue;
      if (this.#countActive() <= this.#size) {
        const [successor] = this.#launch(1);
        if (!(await successor?.ready)) {
          this.#logger.error({}, 'Restart aborted: a new worker did not start');
          return;
        }
      }
      await this.#retire(old);
      this.#fill();
    }
    this.#fill();
    if (!this.#isStopping) this.#logger.info({ workers: this.#size }, 'Restarted workers');
  }

  async #retire(member: Member): Promise<void> {
    // It may have died or been stopped meanwhile.
    if (this.#isStopping || !this.#members.has(member)) return;
    if (member.state === 'starting') member.worker.process.kill('SIGTERM');
    else send(member.worker, { kind: 'retire' });
    member.state = 'leaving';
    this.#killLater(member);
    await member.exited;
  }

  #countActive(): number {
    return [...this.#members].filter(({ state }) => state !== 'leaving').length;
  }

  /** Starts the missing workers. */
  #fill(): void {
    if (!this.#isStopping) this.#launch(this.#size - this.#countActive());
  }

  #launch(count: number): readonly Member[] {
    return Array.from({ length: this.#isStopping ? 0 : Math.max(0, count) }, () => {
      const worker = cluster.fork();
      closeConnectionsInTransit(worker);
      const member: Member = {
        worker,
        pid: worker.process.pid,
        startedAt: performance.now(),
        state: 'starting',
        ready: this.#whetherReady(worker),
        exited: once(worker, 'exit'),
      };
      this.#members.add(member);
      worker.on('message', (message: unknown) => this.#receive(member, message));
      // A failed write to an exiting worker is followed by `exit`.
      worker.on('error', () => undefined);
      worker.once('exit', (code: number | null, signal: string | null) => this.#noteEnd(member, code, signal));
      return member;
    });
  }

  #whetherReady(worker: Worker): Promise<boolean> {
    return new Promise((resolve) => {
      worker.on('message', (message: unknown) => {
        if (readWorkerMessage(message)?.kind === 'listening') resolve(true);
      });
      worker.once('exit', () => resolve(false));
    });
  }

  #receive(member: Member, message: unknown): void {
    const said = readWorkerMessage(message);
    if (said?.kind === 'pong') this.#watchdog?.noteReply(member);
    if (said?.kind === 'closed') send(member.worker, { kind: 'goodbye' });
    if (said?.kind !== 'listening') return;
    this.#hasServed = true;
    if (member.state === 'starting') member.state = 'serving';
  }

  #noteEnd(member: Member, code: number | null, signal: string | null): void {
    this.#members.delete(member);
    const { pid, state } = member;
    if (this.#isStopping || state === 'leaving') {
      const isFine = code === 0 || (state === 'starting' && signal === 'SIGTERM');
      if (!isFine) this.#logger.error({ pid, code, signal }, 'A worker was aborted');
      if (!this.#isStopping) return;
      if (!isFine) this.#code = exitCodes.failed;
      if (this.#members.size === 0) this.#end(this.#code);
      return;
    }
    this.#earlyDeaths = performance.now() - member.startedAt < healthyAfterMs ? this.#earlyDeaths + 1 : 0;
    this.#logger.error({ pid, code, signal }, state === 'starting' ? 'A worker did not start' : 'A worker died');
    const hasServing = [...this.#members].some((other) => other.state === 'serving');
    if (!hasServing && (!this.#hasServed || this.#earlyDeaths >= this.#size + 4)) {
      this.#logger.error({}, 'No worker serves, and new ones exit early: giving up');
      this.#code = exitCodes.failed;
      this.stop();
      return;
    }
    this.#fillSoon();
  }

  #fillSoon(): void {
    const pauseMs = this.#earlyDeaths === 0 ? 0 : Math.min(firstPauseMs * 2 ** (this.#earlyDeaths - 1), longestPauseMs);
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => this.#fill(), pauseMs);
  }

  #killLater(member: Member): void {
    const timeoutMs = lingerMs + this.#shutdownTimeoutMs + exitGraceMs;
    void wait(timeoutMs, undefined, { ref: false }).then(() => {
      if (this.#members.has(member)) member.worker.process.kill('SIGKILL');
    });
  }
}

function send(worker: Worker, message: PrimaryMessage): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}
