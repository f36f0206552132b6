// Parser of the attribute `kinto-emailer` of buckets and collections: a list of hooks with filters, template and
// recipients. The same rules apply when a hook is saved, where issues refuse it, and when it is used, where an invalid
// hook is ignored.
import { getKey, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { StepBudget } from '../../base/json-steps.ts';
import type { Steps } from '../../base/steps.ts';
import { UnsupportedPattern } from '../../core/schema/safe-pattern.ts';
import type { Complain } from '../../engine/kind.ts';
import { isMailbox } from '../../base/mail-addresses.ts';
import { groupPlaceholders, isGroupTemplate, isValidTemplate } from './group-templates.ts';
import { filterNames, type Filter, type FilterFactory, type FilterName } from './filters.ts';

export const attributeName = 'kinto-emailer';

/** A mailbox, or the members of a group, whose id may depend on the change. */
export type Recipient =
  | { readonly mailbox: string }
  | { readonly groupId: string }
  | { readonly groupTemplate: string };

export interface Hook {
  readonly template: string;
  readonly subject: string;
  /** Absent: the default sender of the service. */
  readonly sender: string | undefined;
  readonly recipients: readonly Recipient[];
  readonly filters: readonly Filter[];
}

export interface HookRules {
  /** Bucket of the groups that hooks can name. */
  readonly bucketId: string;
  readonly maxHooks: number;
  readonly maxRecipients: number;
  /** Returns whether the text is a valid id of a group. */
  readonly isGroupId: (text: string) => boolean;
}

const defaultSubject = '{action} {uri}';
const maxTemplateChars = 10_000;
/** Maximum length of a subject, before and after its placeholders are replaced. */
export const maxSubjectChars = 500;

/**
 * Returns the valid hooks of an object, or `undefined` if it does not have the attribute.
 *
 * @param filters factory for this object only
 */
export function* readHooks(
  attributes: JsonObject,
  rules: HookRules,
  complain: Complain,
  filters: FilterFactory,
): Steps<readonly Hook[] | undefined> {
  const value = getKey(attributes, attributeName);
  if (value === undefined) return undefined;
  if (!isJsonObject(value)) {
    complain(attributeName, 'expected an object');
    return [];
  }
  const hooks = getKey(value, 'hooks');
  const name = `${attributeName}.hooks`;
  if (hooks === undefined) {
    complain(name, 'is required');
    return [];
  }
  if (!isList(hooks)) {
    complain(name, 'expected a list');
    return [];
  }
  if (hooks.length > rules.maxHooks) {
    complain(name, `has more than ${rules.maxHooks} items`);
    return [];
  }
  const budget = new StepBudget();
  const found: Hook[] = [];
  for (const [index, hook] of hooks.entries()) {
    const before = filters.work;
    found.push(...readHook(hook, rules, filters, `${name}.${index}`, complain));
    if (budget.spend(filters.work - before + countRecipients(hook) * recipientWork)) yield;
  }
  return found;
}

/** Work of validating one recipient, in the unit of `FilterFactory.work`. */
const recipientWork = 5;

function countRecipients(hook: JsonValue): number {
  const recipients = isJsonObject(hook) ? getKey(hook, 'recipients') : undefined;
  return recipients !== undefined && isList(recipients) ? recipients.length : 1;
}

/** Returns the values of the hooks of an object; none unless the attribute has a list of them. */
export function hookValues(attributes: JsonObject): readonly JsonValue[] {
  const value = getKey(attributes, attributeName);
  const hooks = isJsonObject(value) ? getKey(value, 'hooks') : undefined;
  return hooks !== undefined && isList(hooks) ? hooks : [];
}

/** Returns a list with the hook, or an empty list if the hook is invalid. */
function readHook(
  hook: JsonValue,
  rules: HookRules,
  factory: FilterFactory,
  path: string,
  complain: Complain,
): readonly Hook[] {
  if (!isJsonObject(hook)) {
    complain(path, 'expected an object');
    return [];
  }
  const invalid: string[] = [];
  const report: Complain = (name, description) => {
    invalid.push(name);
    complain(`${path}.${name}`, description);
  };
  const template = readText(hook, 'template', maxTemplateChars, report);
  if (template === undefined && getKey(hook, 'template') === undefined) report('template', 'is required');
  const subject = readText(hook, 'subject', maxSubjectChars, report);
  const sender = readText(hook, 'sender', maxSubjectChars, report);
  if (sender !== undefined && !isMailbox(sender)) report('sender', 'expected an e-mail address');
  const recipients = readRecipients(getKey(hook, 'recipients'), rules, report);
  const filters = filterNames.flatMap((name) => readFilter(hook, name, factory, report));
  if (invalid.length > 0) return [];
  return [{ template: template ?? '', subject: subject || defaultSubject, sender, recipients, filters }];
}

function readText(hook: JsonObject, name: string, maxChars: number, complain: Complain): string | undefined {
  const value = getKey(hook, name);
  if (value === undefined) return undefined;
  if (typeof value !== 'string') complain(name, 'expected a string');
  else if (value.length > maxChars) complain(name, `longer than ${maxChars} characters`);
  else return value;
  return undefined;
}

function readRecipients(
  value: JsonValue | undefined,
  { bucketId, maxRecipients, isGroupId }: HookRules,
  complain: Complain,
): readonly Recipient[] {
  if (value === undefined || !isList(value) || value.length === 0) {
    complain('recipients', 'expected a list of at least one e-mail address or group URI');
    return [];
  }
  if (value.length > maxRecipients) {
    complain('recipients', `has more than ${maxRecipients} items`);
    return [];
  }
  return value.flatMap((item, index): readonly Recipient[] => {
    const prefix = `/buckets/${bucketId}/groups/`;
    if (typeof item === 'string') {
      const groupId = item.startsWith(prefix) ? item.slice(prefix.length) : '';
      if (isGroupTemplate(groupId)) {
        if (isValidTemplate(groupId, isGroupId)) return [{ groupTemplate: groupId }];
        complain(
          `recipients.${index}`,
          `a group URI can have the placeholders ${groupPlaceholders.join(', ')} in the id`,
        );
        return [];
      }
      if (groupId !== '' && !groupId.includes('/')) return [{ groupId }];
      if (isMailbox(item)) return [{ mailbox: item }];
    }
    complain(`recipients.${index}`, 'expected an e-mail address, or the URI of a group in the same bucket');
    return [];
  });
}

function readFilter(hook: JsonObject, name: FilterName, factory: FilterFactory, complain: Complain): readonly Filter[] {
  const wanted = readText(hook, name, Number.POSITIVE_INFINITY, complain);
  if (wanted === undefined) return [];
  try {
    return [factory.create(name, wanted)];
  } catch (error) {
    if (!(error instanceof UnsupportedPattern)) throw error;
    complain(name, `unsupported regular expression: ${error.message}`);
    return [];
  }
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
