// Texts of mails with placeholders in braces.
import { formatJson, getKey, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import type { Placeholders } from '../../base/template.ts';

export interface MailTemplate {
  readonly subject: string;
  readonly body: string;
}

/** Whether this is an object whose values are all texts. */
export function isTexts(value: JsonValue): boolean {
  return isJsonObject(value) && Object.values(value).every((text) => typeof text === 'string');
}

/**
 * What may stand in the mails about an account: its attributes, its `email-context`, and above both what the service
 * says, so that nobody can send keys of their own in its name.
 */
export function placeholdersOf(attributes: JsonObject, own: Readonly<Record<string, string>>): Placeholders {
  const values = new Map<string, string>();
  const context = getKey(attributes, 'email-context');
  for (const source of [attributes, isJsonObject(context) ? context : {}]) {
    for (const [name, value] of Object.entries(source)) {
      values.set(name, typeof value === 'string' ? value : formatJson(value));
    }
  }
  values.delete('password');
  for (const [name, value] of Object.entries(own)) values.set(name, value);
  return values;
}
