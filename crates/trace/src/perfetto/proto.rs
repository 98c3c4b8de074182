//! As much of protobuf as is needed: fields are written into a buffer, and read back by tests.

use gosched_traceformat::leb128;

/// A message that is being written.
#[derive(Debug, Default)]
pub(super) struct ProtoMessage(Vec<u8>);

impl ProtoMessage {
    fn raw(&mut self, number: u64) {
        let mut room = [0; leb128::MAX_LEN];
        let len = leb128::put(&mut room, number);
        self.0.extend_from_slice(&room[..len]);
    }

    /// A number.
    pub(super) fn number(&mut self, field: u64, value: u64) -> &mut ProtoMessage {
        self.raw(field << 3);
        self.raw(value);
        self
    }

    /// A number of eight bytes.
    pub(super) fn fixed(&mut self, field: u64, value: u64) -> &mut ProtoMessage {
        self.raw(field << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Text.
    pub(super) fn text(&mut self, field: u64, value: &str) -> &mut ProtoMessage {
        self.bytes(field, value.as_bytes())
    }

    /// A message within this one.
    pub(super) fn message(&mut self, field: u64, value: &ProtoMessage) -> &mut ProtoMessage {
        self.bytes(field, &value.0)
    }

    fn bytes(&mut self, field: u64, value: &[u8]) -> &mut ProtoMessage {
        self.raw(field << 3 | 2);
        self.raw(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// What was written.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// What a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue<'a> {
    /// A number.
    Number(u64),
    /// Text, or a message.
    Bytes(&'a [u8]),
}

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its number.
    pub number: u64,
    /// What it has.
    pub value: FieldValue<'a>,
}

/// The fields of a message, or nothing if the bytes are none.
#[must_use]
pub fn fields(mut bytes: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (tag, len) = leb128::get(bytes)?;
        bytes = &bytes[len..];
        let value = match tag & 7 {
            0 => {
                let (value, len) = leb128::get(bytes)?;
                bytes = &bytes[len..];
                FieldValue::Number(value)
            }
            1 => {
                let (value, rest) = bytes.split_first_chunk::<8>()?;
                bytes = rest;
                FieldValue::Number(u64::from_le_bytes(*value))
            }
            2 => {
                let (size, len) = leb128::get(bytes)?;
                let (value, rest) = bytes[len..].split_at_checked(usize::try_from(size).ok()?)?;
                bytes = rest;
                FieldValue::Bytes(value)
            }
            _ => return None,
        };
        found.push(Field { number: tag >> 3, value });
    }
    Some(found)
}
