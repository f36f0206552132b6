// Sends mails for events: finds the matching hooks, fills their templates and sends them. Runs in the background after
// the commit, on committed state.
import { getKey } from '../../base/json.ts';
import type { Logger } from '../../contracts/logger.ts';
import type { Mailer, MailMessage } from '../../contracts/mailer.ts';
import { isTombstone, type StoredObject } from '../../core/objects/stored.ts';
import { uriBelow, type ListParent } from '../../core/objects/uris.ts';
import type { Change } from '../../engine/events/event.ts';
import type { ReservingReader } from '../../engine/unit-of-work.ts';
import { addressOf, isAddress } from './addresses.ts';
import { BackgroundQueue } from './background-queue.ts';
import { maxSubjectChars, readHooks, type Hook, type HookRules } from './hooks.ts';
import { matchesAll, placeholdersOf, type MailEvent } from './mail-event.ts';
import { fillTemplate, type Placeholders } from '../../base/template.ts';

export interface NotifierOptions {
  /** No memory is reserved for objects, because few events are processed at the same time. */
  readonly storage: ReservingReader;
  readonly mailer: Mailer;
  readonly logger: Logger;
  readonly limits: Omit<HookRules, 'bucketId'>;
  readonly maxWaiting: number;
  readonly versionPrefix: string;
  readonly shownSettings: Placeholders;
}

/** Maximum number of events processed, and of mails sent, at the same time. */
const atOnce = 2;

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #events: BackgroundQueue;
  readonly #mails: BackgroundQueue;

  constructor(options: NotifierOptions) {
    this.#options = options;
    const { logger, maxWaiting: waiting } = options;
    this.#events = new BackgroundQueue({
      atOnce,
      waiting,
      logger,
      failure: 'The mails for a change could not be created',
    });
    this.#mails = new BackgroundQueue({ atOnce, waiting, logger, failure: 'A mail for a change could not be sent' });
  }

  /** Queues the mails for an event. Never throws. */
  notify(mailEvent: MailEvent): void {
    if (!this.#events.add(() => this.#process(mailEvent))) {
      this.#options.logger.error({ event: mailEvent.event }, 'The mails for a change were dropped: the queue is full');
    }
  }

  /** Waits for pending mails, at most for the given time. */
  async close(timeoutMs: number): Promise<void> {
    const dropped = (await this.#events.close(timeoutMs)) + (await this.#mails.close(timeoutMs));
    if (dropped > 0) this.#options.logger.error({ dropped }, 'Mails were dropped: the service stops');
  }

  async #process(mailEvent: MailEvent): Promise<void> {
    const { logger } = this.#options;
    let dropped = 0;
    // The changes of an event are mostly in one list, so hooks and groups are read once.
    const known = new Map<string, Promise<readonly Hook[]>>();
    const groups = new Map<string, Promise<readonly string[]>>();
    for (const change of mailEvent.changes) {
      const list = change.kind === 'collection' ? change.uri : change.list.parent;
      let hooks = known.get(list);
      if (hooks === undefined) {
        hooks = this.#findHooks(change);
        known.set(list, hooks);
      }
      const matching = (await hooks).filter(({ filters }) => matchesAll(filters, mailEvent, change));
      if (matching.length === 0) continue;
      const placeholders = placeholdersOf(mailEvent, change, this.#options);
      for (const hook of matching) {
        const to = await this.#findAddresses(hook, change.ids['bucket_id']!, groups);
        if (to.length === 0) continue;
        if (!this.#mails.add(() => this.#options.mailer.send(composeMail(hook, to, placeholders)))) dropped++;
      }
    }
    if (dropped > 0) logger.error({ dropped }, 'Mails for a change were dropped: the queue is full');
  }

  /** Returns the hooks of the collection, or those of its bucket if it has no hooks attribute. */
  async #findHooks(change: Change): Promise<readonly Hook[]> {
    const { storage, limits, logger } = this.#options;
    const { bucket_id: bucketId = '', collection_id: collectionId = '' } = change.ids;
    const rules = { ...limits, bucketId };
    const bucketUri = uriBelow('', 'buckets', bucketId);
    const find = async (
      kind: 'collection' | 'bucket',
      parent: ListParent,
      id: string,
    ): Promise<readonly Hook[] | undefined> => {
      const object = ownState(change, kind) ?? (await storage.get({ kind, parent }, id, undefined));
      if (object === undefined) return undefined;
      return readHooks(object.attributes, rules, (name, description) =>
        logger.warn({ [kind]: id, name, description }, 'An invalid mail hook is ignored'),
      );
    };
    return (await find('collection', bucketUri, collectionId)) ?? (await find('bucket', '', bucketId)) ?? [];
  }

  async #findAddresses(
    { recipients }: Hook,
    bucketId: string,
    groups: Map<string, Promise<readonly string[]>>,
  ): Promise<readonly string[]> {
    const { maxRecipients } = this.#options.limits;
    const found = new Map<string, string>();
    for (const recipient of recipients) {
      let mailboxes: readonly string[];
      if ('mailbox' in recipient) mailboxes = [recipient.mailbox];
      else {
        const { groupId } = recipient;
        const members = groups.get(groupId) ?? this.#findMembers(bucketId, groupId);
        groups.set(groupId, members);
        mailboxes = await members;
      }
      for (const mailbox of mailboxes) {
        if (found.size === maxRecipients) return [...found.values()];
        const address = addressOf(mailbox);
        if (!found.has(address)) found.set(address, mailbox);
      }
    }
    return [...found.values()];
  }

  /** Returns the members whose user ids, without the policy prefix, are e-mail addresses. */
  async #findMembers(bucketId: string, groupId: string): Promise<readonly string[]> {
    const group = await this.#options.storage.get(
      { kind: 'group', parent: uriBelow('', 'buckets', bucketId) },
      groupId,
      undefined,
    );
    const members = group === undefined ? undefined : getKey(group.attributes, 'members');
    if (!Array.isArray(members)) return [];
    return members
      .filter((member) => typeof member === 'string')
      .map((member) => member.slice(member.indexOf(':') + 1))
      .filter(isAddress);
  }
}

/** Returns the object if it is the changed one itself, in its last state if deleted. */
function ownState({ kind, old, new: entry }: Change, wanted: string): StoredObject | undefined {
  if (kind !== wanted) return undefined;
  return isTombstone(entry) ? old : entry;
}

function composeMail(
  { subject, template, sender }: Hook,
  to: readonly string[],
  placeholders: Placeholders,
): MailMessage {
  return {
    to,
    subject: fillTemplate(subject, placeholders).slice(0, maxSubjectChars),
    text: fillTemplate(template, placeholders),
    ...(sender === undefined ? {} : { sender }),
  };
}
