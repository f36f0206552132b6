// Finds the addresses of recipients for the changes of one event: each group is read once, and the addresses of each hook
// are computed once.
import { LRUCache } from 'lru-cache';
import { getKey } from '../../base/json.ts';
import { runFromNow } from '../../base/steps.ts';
import { fillTemplate } from '../../base/template.ts';
import { uriBelow } from '../../core/objects/uris.ts';
import type { Change } from '../../engine/events/event.ts';
import type { ReservingReader } from '../../engine/unit-of-work.ts';
import { addressOf, isAddress } from '../../base/mail-addresses.ts';
import { groupValues } from './group-templates.ts';
import type { Hook, HookRules, Recipient } from './hooks.ts';
import { readingSteps, type MatchingBudget } from './matching-budget.ts';

/** Steps of one address or member. */
const stepsOfAddress = 5;
/** Steps of filling the placeholders of a group. */
const stepsOfTemplate = 200;

/** Maximum number of groups in memory. Placeholders can name another one for each change. */
const maxKnownGroups = 2000;

export class Recipients {
  readonly #storage: ReservingReader;
  readonly #maxRecipients: number;
  readonly #isGroupId: HookRules['isGroupId'];
  readonly #budget: MatchingBudget;
  readonly #ofHooks = new Map<Hook, readonly string[]>();
  readonly #ofGroups = new LRUCache<string, readonly string[]>({ max: maxKnownGroups });

  constructor(
    storage: ReservingReader,
    { maxRecipients, isGroupId }: Pick<HookRules, 'maxRecipients' | 'isGroupId'>,
    budget: MatchingBudget,
  ) {
    this.#storage = storage;
    this.#maxRecipients = maxRecipients;
    this.#isGroupId = isGroupId;
    this.#budget = budget;
  }

  /**
   * Returns the addresses of a hook, each once, at most as many as a mail may have. Returns no promise if they are known.
   *
   * @param change gives the bucket of the hook and of its groups, and the values of placeholders
   */
  find(hook: Hook, change: Change): readonly string[] | Promise<readonly string[]> {
    return this.#ofHooks.get(hook) ?? this.#compute(hook, change);
  }

  async #compute(hook: Hook, change: Change): Promise<readonly string[]> {
    const found = new AddressList(this.#maxRecipients);
    for (const recipient of hook.recipients) {
      if (found.isFull || this.#budget.isExhausted) break;
      const mailboxes = 'mailbox' in recipient ? [recipient.mailbox] : await this.#findMembers(recipient, change);
      for (const mailbox of mailboxes) found.add(mailbox);
      this.#budget.spend(stepsOfAddress * (1 + mailboxes.length));
      await this.#budget.pauseIfDue();
    }
    if (!hook.recipients.some((recipient) => 'groupTemplate' in recipient)) this.#ofHooks.set(hook, found.mailboxes);
    return found.mailboxes;
  }

  /**
   * Returns the members whose user ids, without the policy prefix, are e-mail addresses. Of a large group only as many as a
   * mail may have, because all of these are in memory until the end of the event.
   */
  async #findMembers(named: GroupRecipient, change: Change): Promise<readonly string[]> {
    const groupId = 'groupId' in named ? named.groupId : this.#fill(named.groupTemplate, change);
    if (groupId === undefined) return [];
    const parent = uriBelow('', 'buckets', change.ids['bucket_id']!);
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

  /** Returns the id of a group for a change, or `undefined` if the values make no valid one. */
  #fill(template: string, change: Change): string | undefined {
    this.#budget.spend(stepsOfTemplate);
    const groupId = fillTemplate(template, groupValues(change));
    return this.#isGroupId(groupId) ? groupId : undefined;
  }
}

type GroupRecipient = Exclude<Recipient, { readonly mailbox: string }>;

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
