// Runs a history on the backends of one database and returns every result as a plain value that can be compared.
import { isDeepStrictEqual } from 'node:util';
import { BackendError } from '../../src/contracts/errors.ts';
import { isTombstone, type StoredEntry } from '../../src/core/objects/stored.ts';
import type { TestClock, TransactionContext } from '../../src/testing/index.ts';
import type { Comparisons } from '../support/comparisons.ts';
import type { Call, Readers, Step } from './history.ts';

export interface Answer {
  readonly call: string;
  /** Whether the call may also be refused with `UnstorableText`. */
  readonly isUnstorable: boolean;
  readonly answer: unknown;
}

/** Runs one unit of work, and the reads after it. */
export async function runStep(
  { database, storage, permission }: Omit<TransactionContext, 'clock'>,
  step: Step,
): Promise<readonly Answer[]> {
  const transaction = await database.begin();
  const writers = { storage: storage.writer(transaction), permission: permission.writer(transaction) };
  for (const expected of step.expected) transaction.expect?.(expected);
  const answers: Answer[] = [];
  // After a text that cannot be stored the unit ends and is rolled back, as in the service.
  const bad = step.writes.findIndex(({ isUnstorable }) => isUnstorable);
  for (const [index, write] of step.writes.entries()) {
    const isDone = bad === -1 || index <= bad;
    answers.push(
      isDone ? await answerOf(write, writers) : { call: write.name, answer: undefined, isUnstorable: false },
    );
  }
  await transaction[bad === -1 ? step.end : 'rollback']();
  for (const write of step.alone) answers.push(await answerOf(write, { database, storage, permission }));
  answers.push(...(await runReads({ storage: storage.reader, permission: permission.reader }, step)));
  return answers;
}

/** Runs only the reads of a step. */
export async function runReads(readers: Readers, step: Step): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const read of step.reads) answers.push(await answerOf(read, readers));
  return answers;
}

/** Requires all backends to return the same results, or to refuse texts that cannot be stored. */
export function requireSame(all: readonly (readonly Answer[])[], comparisons: Comparisons): void {
  for (const index of all[0]!.keys()) {
    const answers = all.map((each) => each[index]!);
    const [expected, ...others] = answers.filter((each) => !isRefusal(each));
    for (const other of others) comparisons.same(other, expected);
  }
}

function isRefusal({ isUnstorable, answer }: Answer): boolean {
  return isUnstorable && isDeepStrictEqual(answer, { error: 'UnstorableText' });
}

/** The clock never goes below zero, so timestamps stay valid for clients. */
export function advanceClock(clock: TestClock, step: Step): void {
  clock.set(Math.max(0, clock.now() + step.advance));
}

async function answerOf<Target>(call: Call<Target>, target: Target): Promise<Answer> {
  let answer: unknown;
  try {
    answer = await call.run(target);
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    answer = { error: error.name };
  }
  return { call: call.name, isUnstorable: call.isUnstorable, answer: plainAnswer(answer) };
}

/** Returns a result as a plain value, equal for equivalent results. */
function plainAnswer(answer: unknown): unknown {
  if (answer instanceof Set) return plainAnswer([...answer]);
  if (answer instanceof Map) {
    return new Map(
      [...answer].map(([key, value]) => [key, plainAnswer(value)] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    );
  }
  // Arrays of texts only are principals, which have no order.
  if (Array.isArray(answer) && answer.every((item) => typeof item === 'string')) return answer.toSorted();
  if (Array.isArray(answer)) return answer.map(plainAnswer);
  if (typeof answer !== 'object' || answer === null) return answer;
  if ('id' in answer && 'lastModified' in answer) return plainEntry(answer as StoredEntry);
  return Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, plainAnswer(value)]));
}

function plainEntry(entry: StoredEntry): unknown {
  const { id, lastModified } = entry;
  return isTombstone(entry) ? { id, lastModified, deleted: entry.deleted } : { id, lastModified, text: entry.text };
}
