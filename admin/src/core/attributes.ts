// Which members of an object users edit as attributes, and which the service and its plugins maintain. The latter are shown
// elsewhere and return to the service unchanged.
import { indentJson, memberText, membersOf, withoutMembers } from './json-text.ts';
import type { KindName } from './places.ts';

/** Members that the service sets on every object. */
const ownMembers = ['id', 'last_modified'];

/** Members that the service sets on objects of a kind. They are shown elsewhere, and kept as they are. */
const serverMembers: Readonly<Record<KindName, readonly string[]>> = {
  bucket: [],
  collection: [],
  group: [],
  record: ['schema', 'attachment'],
};

/** Names of members that users do not edit as attributes: those of every object, and those of plugins for the kind. */
export function serverOwned(kind: KindName, data: string, capabilities: ReadonlySet<string>): readonly string[] {
  const ofKind = serverMembers[kind].filter(
    (name) =>
      (name === 'schema' && capabilities.has('schema')) || (name === 'attachment' && capabilities.has('attachments')),
  );
  // The signer marks collections with `status` and what belongs to it.
  const isSigned = kind === 'collection' && capabilities.has('signer') && memberText(data, 'status') !== undefined;
  const ofSigner = isSigned
    ? membersOf(data)
        .map(({ key }) => key)
        .filter((key) => /^(?:status|(?:last_(?:edit|review|review_request|signature)_.*))$/.test(key))
    : [];
  return [...ownMembers, ...ofKind, ...ofSigner];
}

/** Returns the attributes to edit, indented, without those that the service owns. */
export function editableText(data: string, owned: readonly string[]): string {
  return indentJson(withoutMembers(data, owned));
}

/** Returns the attributes to send: the edited ones, and those of the plugins that the editor did not show. */
export function sentText(edited: string, data: string, owned: readonly string[]): string {
  const kept = membersOf(data).filter(({ key }) => owned.includes(key) && !ownMembers.includes(key));
  const shown = withoutMembers(
    edited,
    kept.map(({ key }) => key),
  );
  if (kept.length === 0) return edited;
  const parts = membersOf(shown).map(({ keyText, text }) => `${keyText}:${text}`);
  return `{${[...parts, ...kept.map(({ keyText, text }) => `${keyText}:${text}`)].join(',')}}`;
}
