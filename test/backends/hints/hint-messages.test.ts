// The messages that carry hints: their size, their order, and what is made of messages from elsewhere.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatMessages, parseMessage } from '../../../src/backends/hints/hint-messages.ts';
import { maxHints, PendingHints } from '../../../src/backends/hints/pending-hints.ts';
import type { ChangeHint } from '../../../src/contracts/change-hints.ts';
import { storedParent, storedUri } from '../../../src/core/objects/uris.ts';

const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constantFrom('', '"', '\\', '\0', '\ud800'));
const anyHint: fc.Arbitrary<ChangeHint> = fc.oneof(
  fc.record(
    { list: fc.record({ kind: texts, parent: texts.map(storedParent) }, { noNullPrototype: true }) },
    { noNullPrototype: true },
  ),
  fc.record({ below: texts.map(storedUri) }, { noNullPrototype: true }),
  fc.constant<ChangeHint>({ flushed: true }),
  fc.constant<ChangeHint>({ any: true }),
);

const listOf = (n: number): ChangeHint => ({
  list: { kind: 'record', parent: storedParent(`/buckets/b/collections/c${n}`) },
});

describe('messages', () => {
  test('carry all hints in their order, none larger than allowed', () => {
    const sizes = fc.integer({ min: 1000, max: 3000 });
    fc.assert(
      fc.property(fc.array(anyHint, { maxLength: 60 }), sizes, (hints, maxBytes) => {
        const messages = formatMessages('me', hints, maxBytes);
        for (const message of messages) expect(Buffer.byteLength(message)).toBeLessThanOrEqual(maxBytes);
        const parsed = messages.map((message) => parseMessage(message, maxBytes));
        expect(parsed.flatMap((message) => message?.hints)).toEqual(hints);
        expect(parsed.every((message) => message?.from === 'me')).toBe(true);
      }),
    );
  });

  test('are filled up to the last byte', () => {
    const one = formatMessages('me', [listOf(1)], 10_000)[0]!;
    const two = formatMessages('me', [listOf(1), listOf(2)], 10_000)[0]!;
    expect(formatMessages('me', [listOf(1)], one.length)).toEqual([one]);
    expect(formatMessages('me', [listOf(1), listOf(2)], two.length)).toEqual([two]);
    expect(formatMessages('me', [listOf(1), listOf(2)], two.length - 1)).toHaveLength(2);
  });

  test('are none without hints', () => {
    expect(formatMessages('me', [], 1000)).toEqual([]);
  });

  test('say that anything has changed when a hint does not fit', () => {
    const messages = formatMessages('me', [listOf(1), { below: storedUri('é'.repeat(500)) }, listOf(2)], 1000);
    expect(messages.map((message) => parseMessage(message, 1000))).toEqual([{ from: 'me', hints: [{ any: true }] }]);
  });

  test('of any other form, or size, are no messages', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const parsed = parseMessage(text, 1000);
        if (parsed !== undefined) expect(typeof parsed.from).toBe('string');
      }),
    );
    const message = formatMessages('me', [listOf(1)], 1000)[0]!;
    expect(parseMessage(message, message.length)).toBeDefined();
    expect(parseMessage(message, message.length - 1)).toBeUndefined();
    const many = JSON.stringify({ from: 'me', hints: Array.from({ length: maxHints + 1 }, () => ({ any: true })) });
    expect(parseMessage(many, 1_000_000)).toBeUndefined();
  });
});

describe('pending hints', () => {
  function pendingOf(hints: readonly ChangeHint[]): PendingHints {
    const pending = new PendingHints();
    for (const hint of hints) pending.add(hint);
    return pending;
  }

  test('keep each hint once, in the order in which they came', () => {
    const hints: readonly ChangeHint[] = [
      listOf(1),
      { below: storedUri('/a') },
      { flushed: true },
      listOf(2),
      { below: storedUri('/b') },
    ];
    const pending = pendingOf([...hints, ...hints.toReversed()]);
    expect(pending.take()).toEqual(hints);
    expect(pending.isEmpty).toBe(true);
    expect(pending.take()).toEqual([]);
  });

  test('tell lists apart whose kind and parent are the same text together', () => {
    const hints: readonly ChangeHint[] = [
      { list: { kind: 'a', parent: storedParent('bc') } },
      { list: { kind: 'ab', parent: storedParent('c') } },
      { below: storedUri('abc') },
    ];
    expect(pendingOf(hints).take()).toEqual(hints);
  });

  test('become one hint when they are too many, or one says so', () => {
    const most = Array.from({ length: maxHints }, (_, n) => listOf(n));
    expect(pendingOf(most).take()).toHaveLength(maxHints);
    const pending = pendingOf([...most, listOf(maxHints), listOf(0)]);
    expect(pending.isEmpty).toBe(false);
    expect(pending.take()).toEqual([{ any: true }]);
    expect(pendingOf([listOf(1), { any: true }, { flushed: true }]).take()).toEqual([{ any: true }]);
  });
});
