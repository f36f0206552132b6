import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryBudget, MemoryRefused, type Requester, type Reservation } from '../../src/http/memory-budget.ts';

const limits = { totalBytes: 100, maxWaitMs: 1000, maxWaiting: 8 };
const ann: Requester = { name: 'ann', address: '192.0.2.1' };
const bob: Requester = { name: 'bob', address: '192.0.2.2' };
const eve: Requester = { name: 'eve', address: '192.0.2.3' };

function holding(budget: MemoryBudget, requester: Requester, bytes: number): Reservation {
  const reservation = budget.open(requester);
  expect(reservation.grow(bytes)).toBeUndefined();
  return reservation;
}

/** What becomes of a reservation that has to wait. */
function waitFor(reservation: Reservation, bytes: number): { state: string } {
  const seen = { state: 'waiting' };
  const granted = reservation.grow(bytes);
  void granted?.then(
    () => (seen.state = 'granted'),
    (error: unknown) => (seen.state = error instanceof MemoryRefused ? error.reason : 'failed'),
  );
  return seen;
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
}

describe('A memory budget', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('grants free memory at once, and takes back released memory.', () => {
    const budget = new MemoryBudget(limits);
    const [first, second] = [holding(budget, ann, 60), holding(budget, bob, 40)];
    expect(budget.usedBytes).toBe(100);
    first.release();
    first.release();
    second.release();
    expect(budget.usedBytes).toBe(0);
  });

  it('is completely free again after reservations of fractions of bytes.', () => {
    const budget = new MemoryBudget(limits);
    const parts = [0.1, 0.2, 0.7, 3.3].map((bytes) => holding(budget, ann, bytes));
    for (const part of parts) part.release();
    expect(budget.usedBytes).toBe(0);
    holding(budget, bob, limits.totalBytes);
  });

  it('refuses reservations larger than the whole budget for good.', () => {
    const budget = new MemoryBudget(limits);
    expect(() => budget.open(ann).grow(101)).toThrow(new MemoryRefused('never'));
  });

  it('queues a reservation until enough is released, and refuses it after the maximum wait.', async () => {
    let refusals = 0;
    const budget = new MemoryBudget({ ...limits, onExhausted: () => refusals++ });
    const held = holding(budget, ann, 90);
    const [patient, late] = [budget.open(bob), budget.open(eve)];
    const first = waitFor(patient, 50);
    await vi.advanceTimersByTimeAsync(900);
    const second = waitFor(late, 60);
    held.release();
    await settle();
    expect([first.state, second.state, budget.usedBytes]).toEqual(['granted', 'waiting', 50]);
    await vi.advanceTimersByTimeAsync(1000);
    expect([second.state, budget.waiting, refusals]).toEqual(['exhausted', 0, 1]);
    expect(budget.usedBytes).toBe(50);
  });

  it('does not let small reservations overtake a waiting large one.', async () => {
    const budget = new MemoryBudget(limits);
    const held = holding(budget, ann, 50);
    const large = waitFor(budget.open(bob), 80);
    const small = waitFor(budget.open(eve), 10);
    expect(budget.usedBytes).toBe(50);
    held.release();
    await settle();
    expect([large.state, small.state]).toEqual(['granted', 'granted']);
  });

  it('leaves a share to others, unless a requester holds nothing else.', async () => {
    const budget = new MemoryBudget(limits);
    const first = holding(budget, ann, 20);
    const second = waitFor(budget.open(ann), 10);
    // A quarter for each name: bob need not wait for ann.
    holding(budget, bob, 60);
    first.release();
    await settle();
    expect(second.state).toBe('granted');
  });

  it('counts all names of an address together.', async () => {
    const budget = new MemoryBudget(limits);
    const names = ['a', 'b', 'c'].map((name) => holding(budget, { name, address: ann.address }, 25));
    const fourth = waitFor(budget.open({ name: 'd', address: ann.address }), 25);
    holding(budget, bob, 25);
    await settle();
    expect(fourth.state).toBe('waiting');
    names[0]!.release();
    await settle();
    expect(fourth.state).toBe('granted');
  });

  it('serves the requester that holds least first.', async () => {
    const budget = new MemoryBudget({ ...limits, totalBytes: 400 });
    const held = holding(budget, eve, 380);
    holding(budget, ann, 20);
    const ofAnn = waitFor(budget.open(ann), 80);
    const ofBob = waitFor(budget.open(bob), 80);
    held.force(300);
    await settle();
    expect([ofAnn.state, ofBob.state]).toEqual(['waiting', 'granted']);
    held.release();
    await settle();
    expect(ofAnn.state).toBe('granted');
  });

  it('limits the number of waiting reservations, per requester and in total.', () => {
    const budget = new MemoryBudget(limits);
    holding(budget, eve, 100);
    waitFor(budget.open(ann), 10);
    waitFor(budget.open(ann), 10);
    expect(() => budget.open(ann).grow(10)).toThrow(new MemoryRefused('exhausted'));
    for (const name of ['b', 'c', 'd', 'e', 'f', 'g']) waitFor(budget.open({ name, address: name }), 10);
    expect(() => budget.open(bob).grow(10)).toThrow(new MemoryRefused('exhausted'));
  });

  it('never lets two holders of memory wait for each other.', async () => {
    const budget = new MemoryBudget(limits);
    const [one, two] = [holding(budget, ann, 30), holding(budget, bob, 30)];
    const third = holding(budget, eve, 30);
    const growing = waitFor(one, 80);
    expect(() => two.grow(80)).toThrow(new MemoryRefused('exhausted'));
    two.release();
    third.release();
    await settle();
    expect(growing.state).toBe('granted');
  });

  it('takes back memory granted to a request that has ended meanwhile.', async () => {
    const budget = new MemoryBudget(limits);
    const held = holding(budget, ann, 100);
    const gone = budget.open(bob);
    const seen = waitFor(gone, 50);
    gone.release();
    held.release();
    await settle();
    expect([seen.state, budget.usedBytes]).toEqual(['granted', 0]);
  });

  it('counts memory that is in use already, even beyond its total.', () => {
    const budget = new MemoryBudget(limits);
    const held = holding(budget, ann, 90);
    held.force(150);
    expect(budget.usedBytes).toBe(150);
    expect(budget.open(bob).tryGrow(1)).toBe(false);
    held.release();
    held.force(10);
    expect(budget.usedBytes).toBe(0);
  });
});
