// Two kinds of objects. Endpoints, lists with filters and pages, preconditions, tombstones and settings such as
// `story_create_principals` follow from these declarations.

/**
 * Drafts are private: every user has a separate list at the same address, without permissions.
 *
 * @type {import('coffer').ResourceKind}
 */
export const drafts = { name: 'draft', path: '/drafts', flavour: 'user', idGenerator: 'NameGenerator' };

/**
 * Stories can be shared one by one: without a table of its own, a kind stores `read` and `write`.
 *
 * @param {number} maxTitleLength
 * @returns {import('coffer').ResourceKind}
 */
export function stories(maxTitleLength) {
  return {
    name: 'story',
    path: '/stories',
    flavour: 'shareable',
    idGenerator: 'DatedName',
    checkAttributes(attributes, complain) {
      const { title } = attributes;
      if (typeof title !== 'string' || title === '') complain('title', 'expected a text');
      else if (title.length > maxTitleLength) complain('title', `expected at most ${maxTitleLength} characters`);
      return attributes;
    },
  };
}
