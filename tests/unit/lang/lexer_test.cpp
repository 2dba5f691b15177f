#include "tests/unit/lang/helpers.hpp"

using namespace talc::lang;
using namespace talc::lang::testing;

TEST_CASE("indentation becomes tokens", "[lang]") {
    CHECK(kinds("if x:\n  y\nz") ==
          "If Name Colon Newline Indent Name Newline Dedent Name Newline EndOfFile");
    CHECK(kinds("if x:\n  if y:\n    z") ==
          "If Name Colon Newline Indent If Name Colon Newline Indent Name Newline Dedent Dedent EndOfFile");
    // Blank lines and comments have none.
    CHECK(kinds("\n\n# note\n  # another\nx\n   \n") == "Name Newline EndOfFile");
    CHECK(kinds("") == "EndOfFile");
}

TEST_CASE("lines are joined in brackets and by a backslash", "[lang]") {
    CHECK(kinds("(a,\n b)\n") == "LParen Name Comma Name RParen Newline EndOfFile");
    CHECK(kinds("a + \\\n  b") == "Name Plus Name Newline EndOfFile");
    CHECK(kinds("a; b;") == "Name Semicolon Name Semicolon Newline EndOfFile");
    CHECK(kinds("a\r\nb\rc\n") == "Name Newline Name Newline Name Newline EndOfFile");
}

TEST_CASE("operators are the longest that fit", "[lang]") {
    CHECK(kinds("a**=b//c<<=d->e...f:=g") ==
          "Name DoubleStarEqual Name DoubleSlash Name LeftShiftEqual Name Arrow Name Ellipsis Name "
          "ColonEqual Name "
          "Newline EndOfFile");
    CHECK(kinds("a!=b<=c>=d") == "Name NotEqual Name LessEqual Name GreaterEqual Name Newline EndOfFile");
}

TEST_CASE("numbers", "[lang]") {
    CHECK(kinds("1 0 00 1_000 0xFf 0o17 0b1_0") == "Int Int Int Int Int Int Int Newline EndOfFile");
    CHECK(kinds("1. .5 1e3 1_0.0_1e-1_0 0.0 09.5 0e0") ==
          "Float Float Float Float Float Float Float Newline EndOfFile");
    CHECK(kinds("1if x else 2") == "Int If Name Else Int Newline EndOfFile");
    CHECK(kinds("0xfor x") == "Int Or Name Newline EndOfFile");
    CHECK(kinds("1..real") == "Float Dot Name Newline EndOfFile");
    CHECK(lex_error("1_") == "invalid decimal literal");
    CHECK(lex_error("5abc") == "invalid decimal literal");
    CHECK(lex_error("0b12") == "invalid digit '2' in binary literal");
    CHECK(lex_error("0o8") == "invalid digit '8' in octal literal");
    CHECK(lex_error("0x") == "invalid hexadecimal literal");
    CHECK(lex_error("1e+") == "invalid decimal literal");
    CHECK(lex_error("012") ==
          "leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers");
    CHECK(lex_error("1j") == "complex literals are not in the language");
}

TEST_CASE("strings", "[lang]") {
    CHECK(kinds("'a' \"b\" '''c\nd''' r'\\d' f'{x}' rb'' Fr''") ==
          "String String String String FString Bytes FString Newline EndOfFile");
    CHECK(kinds("u'' ub''") == "String Name String Newline EndOfFile");
    CHECK(kinds("'a\\'b'") == "String Newline EndOfFile");
    CHECK(lex_error("x = 'abc") == "unterminated string literal (detected at line 1)");
    CHECK(lex_error("x = '''abc\n\n") == "unterminated triple-quoted string literal (detected at line 2)");
    CHECK(tokenize("x = '''abc").error->incomplete);
    CHECK_FALSE(tokenize("x = 'abc").error->incomplete);
}

TEST_CASE("brackets must match", "[lang]") {
    CHECK(lex_error("(]") == "closing parenthesis ']' does not match opening parenthesis '('");
    CHECK(lex_error("(\n]") == "closing parenthesis ']' does not match opening parenthesis '(' on line 1");
    CHECK(lex_error(")") == "unmatched ')'");
    CHECK(lex_error(std::string(300, '(')) == "too many nested parentheses");
    LexResult open = tokenize("f(a, [b");
    REQUIRE(open.unclosed);
    CHECK(open.unclosed->opener == '[');
    CHECK(open.unclosed->span.begin == 5);
}

TEST_CASE("wrong indentation", "[lang]") {
    LexResult dedent = tokenize("if x:\n    a\n  b\n");
    REQUIRE(dedent.error);
    CHECK(dedent.error->message == "unindent does not match any outer indentation level");
    CHECK(dedent.error->kind == SyntaxErrorKind::Indentation);
    LexResult tabs = tokenize("if x:\n\ta\n        b\n");
    REQUIRE(tabs.error);
    CHECK(tabs.error->kind == SyntaxErrorKind::Tab);
}

TEST_CASE("characters beyond ASCII", "[lang]") {
    CHECK(kinds("é = größe + 変数") == "Name Equal Name Plus Name Newline EndOfFile");
    CHECK(lex_error("x = €") == "invalid character '€' (U+20AC)");
    CHECK(lex_error("x\xC2\xA0= 1") == "invalid non-printable character U+00A0");
    CHECK(lex_error("x = '\xFF'") == "(unicode error) 'utf-8' codec can't decode byte 0xff in position 5");
    CHECK(lex_error(std::string_view("a\0b", 3)) == "source code cannot contain null bytes");
    CHECK(kinds("\xEF\xBB\xBFx") == "Name Newline EndOfFile");
}

TEST_CASE("the tolerant mode gives comments and error tokens and never stops", "[lang]") {
    CHECK(kinds("x = 1 # note", LexMode::Tolerant) == "Name Equal Int Comment Newline EndOfFile");
    CHECK(kinds("x = 'open", LexMode::Tolerant) == "Name Equal Error Newline EndOfFile");
    CHECK(kinds("a ) b", LexMode::Tolerant) == "Name Error Name Newline EndOfFile");
    CHECK(kinds("x = 1abc + y", LexMode::Tolerant) == "Name Equal Error Plus Name Newline EndOfFile");
    CHECK(kinds("a \\ b", LexMode::Tolerant) == "Name Error Name Newline EndOfFile");
}

TEST_CASE("every keyword is one, and nothing else", "[lang]") {
#define TALC_KEYWORD(kind, text) CHECK(keyword_or_name(text) == TokenKind::kind);
#include "lang/tokens.def"
    CHECK(keyword_or_name("iff") == TokenKind::Name);
    CHECK(keyword_or_name("none") == TokenKind::Name);
    CHECK(keyword_or_name("match") == TokenKind::Name);
}

TEST_CASE("tokens as text", "[lang]") {
    CHECK(dump_tokens("x = 'a'\n", tokenize("x = 'a'\n").tokens) ==
          "1:1 Name x\n1:3 Equal =\n1:5 String 'a'\n1:8 Newline\n2:1 EndOfFile\n");
}

TEST_CASE("a prompt knows whether its input is complete", "[lang]") {
    CHECK(classify_input("x = 1") == InputState::Complete);
    CHECK(classify_input("") == InputState::Complete);
    CHECK(classify_input("f(1,") == InputState::Incomplete);
    CHECK(classify_input("x = '''abc") == InputState::Incomplete);
    CHECK(classify_input("x = 1 + \\\n") == InputState::Incomplete);
    CHECK(classify_input("if x:") == InputState::Incomplete);
    CHECK(classify_input("if x:\n    y\n") == InputState::Incomplete);
    CHECK(classify_input("if x:\n    y\n\n") == InputState::Complete);
    CHECK(classify_input("if x: y\n") == InputState::Incomplete);
    CHECK(classify_input("try:\n    y\n") == InputState::Incomplete);
    CHECK(classify_input("try:\n    y\n\n") == InputState::Incomplete);
    CHECK(classify_input("@decorator\n") == InputState::Incomplete);
    CHECK(classify_input("class A:\n    def f(self):\n") == InputState::Incomplete);
    CHECK(classify_input("x = = 1") == InputState::Invalid);
    CHECK(classify_input("x = 'abc") == InputState::Invalid);
    CHECK(classify_input("f(1 2") == InputState::Incomplete);
    CHECK(classify_input("f)") == InputState::Invalid);
}
