// The contract of change hints as cases, for databases that several processes share.
import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { oddTexts } from '../hostile-text.ts';
import type { ChangeHint, ChangeHints, ListKey } from '../plain-contracts.ts';

export interface ChangeHintsContext {
  /** Opens the hints of one more process that uses the database. The caller of the case closes them. */
  readonly open: () => Promise<ChangeHints>;
  /** Opens the hints of a process of another installation, which shares the server. */
  readonly openElsewhere: () => Promise<ChangeHints>;
  /** Breaks all connections on which hints arrive, from the side of the server. */
  readonly cut: () => Promise<void>;
  /** Sends a text on the channel of the hints, as any other client of the server could. */
  readonly send: (text: string) => Promise<void>;
}

export type ChangeHintsCase = ContractCase<ChangeHintsContext>;

const fruits: ListKey = { kind: 'record', parent: '/buckets/food/collections/fruits' };
const nuts: ListKey = { kind: 'record', parent: '/buckets/food/collections/nuts' };

/** What a listener has received. */
class Inbox {
  readonly hints: ChangeHint[] = [];
  /** Number of calls of the listener. */
  calls = 0;
  #waiting: (() => void)[] = [];

  readonly listener = (hints: readonly ChangeHint[]): void => {
    this.calls++;
    this.hints.push(...hints);
    for (const wake of this.#waiting.splice(0)) wake();
  };

  /** Resolves when the hints fulfil the condition. */
  async until(isTrue: (hints: readonly ChangeHint[]) => boolean): Promise<void> {
    while (!isTrue(this.hints)) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  /** Resolves when the hint has arrived, and forgets it with all before it. Returns those before it. */
  async takeUpTo(hint: ChangeHint): Promise<readonly ChangeHint[]> {
    await this.until((hints) => indexOf(hints, hint) !== -1);
    return this.hints.splice(0, indexOf(this.hints, hint) + 1).slice(0, -1);
  }
}

function indexOf(hints: readonly ChangeHint[], hint: ChangeHint): number {
  const text = JSON.stringify(hint);
  return hints.findIndex((each) => JSON.stringify(each) === text);
}

const anything: ChangeHint = { any: true };

/** Opens hints that receive, with what they have received from then on. */
async function listening(hints: ChangeHints): Promise<Inbox> {
  const inbox = new Inbox();
  hints.subscribe(inbox.listener);
  assert.deepEqual(await inbox.takeUpTo(anything), []);
  return inbox;
}

function hintCase(name: string, run: (context: ChangeHintsContext) => Promise<void>): ChangeHintsCase {
  return { name, run };
}

/** Each case wants a channel of its own, on which nothing is under way. */
export const changeHintsCases: readonly ChangeHintsCase[] = [
  hintCase('hints reach the other processes in their order', async ({ open }) => {
    const [sender, first, second] = [await open(), await open(), await open()];
    const inboxes = [await listening(first), await listening(second)];
    const sent: readonly ChangeHint[] = [{ list: fruits }, { below: '/buckets/food' }, { flushed: true }];
    sender.publish(sent);
    sender.publish([{ list: nuts }]);
    for (const inbox of inboxes) assert.deepEqual(await inbox.takeUpTo({ list: nuts }), sent);
  }),
  hintCase('a process does not receive its own hints', async ({ open }) => {
    const [one, other] = [await open(), await open()];
    const [ofOne, ofOther] = [await listening(one), await listening(other)];
    one.publish([{ list: fruits }]);
    assert.deepEqual(await ofOther.takeUpTo({ list: fruits }), []);
    other.publish([{ list: nuts }]);
    assert.deepEqual(await ofOne.takeUpTo({ list: nuts }), []);
  }),
  hintCase('hints of one moment come together, each of them once', async ({ open }) => {
    const [sender, receiver] = [await open(), await open()];
    const inbox = await listening(receiver);
    const calls = inbox.calls;
    for (let n = 0; n < 200; n++) sender.publish([{ list: fruits }, { list: { ...nuts } }, { below: '/buckets/food' }]);
    sender.publish([{ list: { kind: 'group', parent: '/buckets/food' } }]);
    const hints = await inbox.takeUpTo({ list: { kind: 'group', parent: '/buckets/food' } });
    assert.deepEqual(hints, [{ list: fruits }, { list: nuts }, { below: '/buckets/food' }]);
    assert.equal(inbox.calls, calls + 1);
  }),
  hintCase('odd names arrive as they were sent', async ({ open }) => {
    const [sender, receiver] = [await open(), await open()];
    const inbox = await listening(receiver);
    const texts = [...oddTexts, 'plain\0', 'plain\ud800', '\udc00'];
    const hints = texts.flatMap((text): ChangeHint[] => [
      { list: { kind: 'record', parent: `/buckets/${text}` } },
      { list: { kind: text, parent: text } },
      { below: text },
    ]);
    sender.publish(hints);
    sender.publish([{ list: nuts }]);
    assert.deepEqual(await inbox.takeUpTo({ list: nuts }), hints);
  }),
  hintCase('very many hints arrive completely, or as one that anything has changed', async ({ open }) => {
    const [sender, receiver] = [await open(), await open()];
    const inbox = await listening(receiver);
    for (const count of [100, 250, 3000]) {
      const hints = Array.from({ length: count }, (_, n): ChangeHint => {
        return { list: { kind: 'record', parent: `/buckets/food/collections/${'c'.repeat(100)}${n}` } };
      });
      sender.publish(hints);
      await inbox.until((received) => received.length === count || indexOf(received, anything) !== -1);
      if (count <= 250) assert.deepEqual(inbox.hints, hints);
      inbox.hints.length = 0;
      sender.publish([{ list: nuts }]);
      const rest = await inbox.takeUpTo({ list: nuts });
      assert.ok(rest.every((hint) => 'list' in hint && hint.list.parent.startsWith('/buckets/food')));
    }
  }),
  hintCase('a hint that is too long for the server arrives as one that anything has changed', async ({ open }) => {
    const [sender, receiver] = [await open(), await open()];
    const inbox = await listening(receiver);
    sender.publish([{ list: fruits }, { below: '/é'.repeat(100_000) }]);
    assert.deepEqual(await inbox.takeUpTo(anything), []);
  }),
  hintCase('hints of other installations do not arrive', async ({ open, openElsewhere }) => {
    const [sender, receiver, stranger, familiar] = [
      await open(),
      await open(),
      await openElsewhere(),
      await openElsewhere(),
    ];
    const [inbox, elsewhere] = [await listening(receiver), await listening(familiar)];
    stranger.publish([{ below: '/strange' }]);
    assert.deepEqual(await elsewhere.takeUpTo({ below: '/strange' }), []);
    sender.publish([{ list: nuts }]);
    assert.deepEqual(await inbox.takeUpTo({ list: nuts }), []);
  }),
  hintCase('messages that are no hints are ignored', async ({ open, send }) => {
    const [sender, receiver] = [await open(), await open()];
    const inbox = await listening(receiver);
    const [list, from] = [{ kind: 'record', parent: '/x' }, 'somebody'];
    const members: readonly object[] = [
      { from },
      { hints: [] },
      { from: 1, hints: [{ list }] },
      { from, hints: {} },
      { from, hints: [{ list }, { below: 7 }] },
      { from, hints: Array.from({ length: 600 }, () => ({})) },
    ];
    const strange: readonly unknown[] = [
      null,
      'flushed',
      {},
      [list],
      { list: '/x' },
      { list: { kind: 'record' } },
      { list: { kind: 1, parent: '/x' } },
      { flushed: false },
      { any: 'yes' },
    ];
    const broken = ['nonsense', '{', 'null', '7', '""', '[]', '{}', '[["list"]]', '\ufffd'].concat(
      members.map((each) => JSON.stringify(each)),
      strange.map((hint) => JSON.stringify({ from, hints: [hint] })),
    );
    for (const text of broken) await send(text);
    await send(JSON.stringify({ from, hints: [{ list: { ...list, more: 1 }, since: 3 }] }));
    assert.deepEqual(await inbox.takeUpTo({ list }), []);
    sender.publish([{ list: nuts }]);
    assert.deepEqual(await inbox.takeUpTo({ list: nuts }), []);
  }),
  hintCase('hints arrive again after the connection was cut, and the gap is announced', async ({ open, cut }) => {
    const [sender, receiver] = [await open(), await open()];
    const inbox = await listening(receiver);
    for (const round of [1, 2]) {
      sender.publish([{ below: `/before/${round}` }]);
      await inbox.takeUpTo({ below: `/before/${round}` });
      await cut();
      await inbox.until((hints) => indexOf(hints, anything) !== -1);
      // The sender may learn of its own broken connection only now. Then the hint becomes another announcement.
      const hint: ChangeHint = { below: `/after/${round}` };
      for (let isThere = false; !isThere;) {
        inbox.hints.length = 0;
        sender.publish([hint]);
        await inbox.until((hints) => hints.length > 0);
        isThere = indexOf(inbox.hints, hint) !== -1;
      }
      inbox.hints.length = 0;
    }
  }),
  hintCase('a removed listener receives nothing, and the others go on', async ({ open }) => {
    const [sender, receiver] = [await open(), await open()];
    const [removed, kept] = [new Inbox(), await listening(receiver)];
    const remove = receiver.subscribe(removed.listener);
    sender.publish([{ list: fruits }]);
    await Promise.all([kept.takeUpTo({ list: fruits }), removed.takeUpTo({ list: fruits })]);
    remove();
    remove();
    sender.publish([{ list: nuts }]);
    assert.deepEqual(await kept.takeUpTo({ list: nuts }), []);
    assert.deepEqual(removed.hints, []);
  }),
  hintCase('what is pending is sent when the hints are closed', async ({ open }) => {
    const [sender, receiver] = [await open(), await open()];
    const inbox = await listening(receiver);
    sender.publish([{ list: fruits }]);
    await inbox.takeUpTo({ list: fruits });
    sender.publish([{ list: nuts }]);
    await sender.close();
    assert.deepEqual(await inbox.takeUpTo({ list: nuts }), []);
  }),
  hintCase('closed hints neither send nor receive', async ({ open }) => {
    const [one, other] = [await open(), await open()];
    const [ofOne, ofOther] = [await listening(one), await listening(other)];
    await Promise.all([one.close(), one.close()]);
    await one.close();
    one.publish([{ list: fruits }]);
    one.subscribe(ofOne.listener);
    other.publish([{ list: nuts }]);
    const third = await open();
    third.publish([{ below: '/last' }]);
    assert.deepEqual(await ofOther.takeUpTo({ below: '/last' }), []);
    assert.deepEqual(ofOne.hints, []);
  }),
  hintCase('hints that were never used are closed', async ({ open }) => {
    await (await open()).close();
  }),
  hintCase('hints are closed while they connect', async ({ open }) => {
    const [one, other] = [await open(), await open()];
    one.subscribe(() => assert.fail('closed hints have received something'));
    other.publish([{ list: fruits }]);
    await Promise.all([one.close(), other.close()]);
  }),
];
