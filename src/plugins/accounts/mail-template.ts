// Templates of account mails and their placeholders.
import { formatJson, getKey, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import type { Placeholders } from '../../base/template.ts';

export interface MailTemplate {
  readonly subject: string;
  readonly body: string;
}

/** Returns whether the value is an object whose values are all strings. */
export function isTexts(value: JsonValue): boolean {
  return isJsonObject(value) && Object.values(value).every((text) => typeof text === 'string');
}

/**
 * Returns the placeholders of a mail: attributes of the account, its `email-context`, and values of the service, which
 * take precedence, so that clients cannot insert their own keys.
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
