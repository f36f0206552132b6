// Finds the addresses of recipients for the changes of one event: each group is read once, and the addresses of each hook
// are computed once.
import { getKey } from '../../base/json.ts';
import { runFromNow } from '../../base/steps.ts';
import { uriBelow } from '../../core/objects/uris.ts';
import type { ReservingReader } from '../../engine/unit-of-work.ts';
import { addressOf, isAddress } from './addresses.ts';
import type { Hook } from './hooks.ts';
import { readingSteps, type MatchingBudget } from './matching-budget.ts';

/** Steps of one address or member. */
const stepsOfAddress = 5;
export class Recipients {
  readonly #storage: ReservingReader;
  readonly #maxRecipients: number;
  readonly #budget: MatchingBudget;
  readonly #ofHooks = new Map<Hook, readonly string[]>();
  readonly #ofGroups = new Map<string, readonly string[]>();

  constructor(storage: ReservingReader, maxRecipients: number, budget: MatchingBudget) {
    this.#storage = storage;
    this.#maxRecipients = maxRecipients;
    this.#budget = budget;
  }

  /**
   * Returns the addresses of a hook, each once, at most as many as a mail may have. Returns no promise if they are known.
   *
   * @param bucketId bucket of the hook and of its groups
   */
  find(hook: Hook, bucketId: string): readonly string[] | Promise<readonly string[]> {
    return this.#ofHooks.get(hook) ?? this.#compute(hook, bucketId);
  }

  async #compute(hook: Hook, bucketId: string): Promise<readonly string[]> {
    const found = new AddressList(this.#maxRecipients);
    for (const recipient of hook.recipients) {
      if (found.isFull || this.#budget.isExhausted) break;
      const mailboxes =
        'mailbox' in recipient ? [recipient.mailbox] : await this.#findMembers(bucketId, recipient.groupId);
      for (const mailbox of mailboxes) found.add(mailbox);
      this.#budget.spend(stepsOfAddress * (1 + mailboxes.length));
      await this.#budget.pauseIfDue();
    }
    this.#ofHooks.set(hook, found.mailboxes);
    return found.mailboxes;
  }

  /**
   * Returns the members whose user ids, without the policy prefix, are e-mail addresses. Of a large group only as many as a
   * mail may have, because all of these are in memory until the end of the event.
   */
  async #findMembers(bucketId: string, groupId: string): Promise<readonly string[]> {
    const parent = uriBelow('', 'buckets', bucketId);
    const uri = uriBelow(parent, 'groups', groupId);
    const known = this.#ofGroups.get(uri);
    if (known !== undefined) return known;
    const group = await this.#storage.get({ kind: 'group', parent }, groupId, undefined);
    this.#budget.spend(readingSteps(group));
    const members = group === undefined ? undefined : getKey(await runFromNow(group.read(), 'normal'), 'members');
    const found = new AddressList(this.#maxRecipients);
    for (const member of Array.isArray(members) ? members : []) {
      if (found.isFull) break;
      this.#budget.spend(stepsOfAddress);
      await this.#budget.pauseIfDue();
      if (typeof member !== 'string') continue;
      const address = member.slice(member.indexOf(':') + 1);
      if (isAddress(address)) found.add(address);
    }
    this.#ofGroups.set(uri, found.mailboxes);
    return found.mailboxes;
  }
}

/** Mailboxes with different addresses, up to a maximum number. */
class AddressList {
  readonly #max: number;
  readonly #byAddress = new Map<string, string>();

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#byAddress.size >= this.#max;
  }

  get mailboxes(): readonly string[] {
    return [...this.#byAddress.values()];
  }

  /** Adds a mailbox unless the list is full or has its address. */
  add(mailbox: string): void {
    const address = addressOf(mailbox);
    if (!this.isFull && !this.#byAddress.has(address)) this.#byAddress.set(address, mailbox);
  }
}
