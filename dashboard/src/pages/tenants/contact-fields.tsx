import { Button } from "../../ui/button.tsx";
import { ChoiceField, TextField } from "../../ui/field.tsx";
import { newContact, TOPICS, WAYS, type ContactDraft } from "./tenant-draft.ts";

interface ContactFieldsProps {
  contacts: readonly ContactDraft[];
  onChange: (contacts: readonly ContactDraft[]) => void;
}

export function ContactFields({ contacts, onChange }: ContactFieldsProps) {
  const change = (key: string, changes: Partial<ContactDraft>) =>
    onChange(contacts.map((contact) => (contact.key === key ? { ...contact, ...changes } : contact)));
  const topics = Object.keys(TOPICS) as (keyof typeof TOPICS)[];
  return (
    <fieldset className="field">
      <legend>More contacts</legend>
      <ul className="rows">
        {contacts.map(({ key, way, address, about }) => (
          <li key={key} className="dialog-form">
            <div className="fields">
              <ChoiceField label="By" options={WAYS} value={way} onChange={(chosen) => change(key, { way: chosen })} />
              <TextField
                label="Address"
                value={address}
                placeholder={way === "phone" ? "+49301234567" : way === "url" ? "https://" : "ops@acme.example"}
                onChange={(typed) => change(key, { address: typed })}
              />
            </div>
            <div className="alert-head">
              {topics.map((topic) => (
                <label key={topic} className="check">
                  <input
                    type="checkbox"
                    checked={about.includes(topic)}
                    onChange={({ target }) =>
                      change(key, {
                        about: topics.filter((one) => (one === topic ? target.checked : about.includes(one))),
                      })
                    }
                  />
                  {TOPICS[topic]}
                </label>
              ))}
              <Button kind="quiet" onClick={() => onChange(contacts.filter((contact) => contact.key !== key))}>
                Remove contact
              </Button>
            </div>
          </li>
        ))}
      </ul>
      <div>
        <Button onClick={() => onChange([...contacts, newContact()])}>Add contact</Button>
      </div>
    </fieldset>
  );
}
