// Sends mails for events: finds the matching hooks, fills their templates and sends them. Runs in the background after
// the commit, on committed state.
import type { Mailer, MailMessage } from '../../contracts/mailer.ts';
import type { ServiceRequest } from '../../engine/exchange.ts';
import { partyOf } from '../../http/address-group.ts';
import { fillTemplate, type Placeholders } from '../../base/template.ts';
import { BackgroundQueue } from './background-queue.ts';
import { PatternTests } from './filters.ts';
import { HookFinder, type HookFinderOptions } from './hook-finder.ts';
import { maxSubjectChars, type Hook } from './hooks.ts';
import { filteredValues, placeholdersOf, type MailEvent } from './mail-event.ts';
import { MatchingBudget } from './matching-budget.ts';
import { Recipients } from './recipients.ts';

/** No memory is reserved for objects that `storage` reads, because few events are processed at the same time. */
export interface NotifierOptions extends HookFinderOptions {
  readonly mailer: Mailer;
  readonly maxWaiting: number;
  readonly versionPrefix: string;
  readonly shownSettings: Placeholders;
}

/** Maximum number of events processed, and of mails sent, at the same time. */
const atOnce = 2;

/** Steps of the values of a change that hooks are matched with. */
const stepsOfChange = 20;

const changeIsDropped = 'The mails for a change were dropped: the queue is full';
const queueIsFull = 'Mails for a change were dropped: the queue is full';
const tooMuchWork = 'Mails for a change were not created: matching the hooks of the request takes too much work';

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #events: BackgroundQueue;
  readonly #mails: BackgroundQueue;
  /** By request, or by the memory account that the entries of a batch share. */
  readonly #budgets = new WeakMap<object, MatchingBudget>();

  constructor(options: NotifierOptions) {
    this.#options = options;
    const { logger, maxWaiting: waiting } = options;
    this.#events = new BackgroundQueue({
      atOnce,
      waiting,
      logger,
      failure: 'The mails for a change could not be created',
      dropped: changeIsDropped,
    });
    this.#mails = new BackgroundQueue({
      atOnce,
      waiting,
      logger,
      failure: 'A mail for a change could not be sent',
      dropped: queueIsFull,
    });
  }

  /** Queues the mails for an event. Never throws. */
  notify(mailEvent: MailEvent): void {
    if (!this.#events.add(authorOf(mailEvent), () => this.#process(mailEvent))) {
      this.#options.logger.error({ event: mailEvent.event }, changeIsDropped);
    }
  }

  /** Waits for pending mails, at most for the given time. */
  async close(timeoutMs: number): Promise<void> {
    const dropped = (await this.#events.close(timeoutMs)) + (await this.#mails.close(timeoutMs));
    if (dropped > 0) this.#options.logger.error({ dropped }, 'Mails were dropped: the service stops');
  }

  /** Creates the mails in the order of changes and hooks. Logs why it ends before the last change. */
  async #process(mailEvent: MailEvent): Promise<void> {
    const { logger } = this.#options;
    const { event, changes, request } = mailEvent;
    const budget = this.#budgetOf(request);
    const { processed, end } = await this.#matchAll(mailEvent, budget);
    const fields = { event, changes: changes.length, processed };
    if (end === 'full') logger.error(fields, queueIsFull);
    // Once a request, since its other events end for the same reason.
    if (end === 'exhausted' && budget.reportExhausted()) logger.warn(fields, tooMuchWork);
  }

  async #matchAll(mailEvent: MailEvent, budget: MatchingBudget): Promise<Matching> {
    const { storage, limits, mailer } = this.#options;
    const { changes } = mailEvent;
    const party = authorOf(mailEvent);
    const finder = new HookFinder(this.#options, budget);
    const recipients = new Recipients(storage, limits, budget);
    for (const [processed, change] of changes.entries()) {
      const hooks = await finder.find(change);
      budget.spend(1);
      await budget.pauseIfDue();
      if (hooks.length === 0) continue;
      budget.spend(stepsOfChange);
      const values = filteredValues(mailEvent, change);
      const tests = new PatternTests(budget);
      let placeholders: Placeholders | undefined;
      for (const hook of hooks) {
        budget.spend(1 + hook.filters.length);
        await budget.pauseIfDue();
        const isMatch = hook.filters.every(({ name, matches }) => matches(values[name], tests));
        const to = isMatch ? await recipients.find(hook, change) : [];
        if (budget.isExhausted) return { processed, end: 'exhausted' };
        if (to.length === 0) continue;
        const shown = (placeholders ??= placeholdersOf(mailEvent, change, this.#options));
        // Later mails would be dropped as well.
        const send = (): Promise<void> => mailer.send(composeMail(hook, to, shown));
        if (!this.#mails.add(party, send)) return { processed, end: 'full' };
      }
    }
    return { processed: changes.length, end: 'done' };
  }

  /** Returns the budget that all events of one request share. */
  #budgetOf(request: ServiceRequest): MatchingBudget {
    const key = request.memory ?? request;
    let budget = this.#budgets.get(key);
    if (budget === undefined) this.#budgets.set(key, (budget = new MatchingBudget()));
    return budget;
  }
}

interface Matching {
  /** Number of changes that were matched with all hooks. */
  readonly processed: number;
  readonly end: 'done' | 'full' | 'exhausted';
}

/** Returns the party of an event: the user who made the changes. */
function authorOf({ changes, request }: MailEvent): string | undefined {
  return partyOf(changes[0]?.caller.userId, request.clientAddress);
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
