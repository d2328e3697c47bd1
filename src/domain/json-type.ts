const JSON_TYPE = /[/+]json\s*(;|$)/i;

/** Whether a body of this content type may be JSON: also one of which nothing is said. */
export function mayBeJson(contentType: string | undefined): boolean {
  return contentType === undefined || contentType.trim() === "" || JSON_TYPE.test(contentType);
}
